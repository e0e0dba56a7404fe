"""What Python's argparse makes of command lines: the reference for src/swarm/argparse.ts.

In on stdin: {"commands": [...], "cases": [[arg, ...], ...]}, the commands as in commands.ts.
Out: [{"code": int | null, "stderr": str, "values": {...} | null}, ...]; code null means parsed.
"""

import argparse
import contextlib
import io
import json
import sys


def build(commands):
    parser = argparse.ArgumentParser(prog="swarm-cli")
    subparsers = parser.add_subparsers(dest="cmd", required=True, metavar="COMMAND")
    for command in commands:
        sub = subparsers.add_parser(command["name"])
        one_of = command.get("oneOf", [])
        group = sub.add_mutually_exclusive_group(required=True) if one_of else None
        for option in command["options"]:
            if option["flag"] in one_of:
                group.add_argument(option["flag"], action="store_true")
            elif option["kind"] == "switch":
                sub.add_argument(option["flag"], action="store_true")
            else:
                kind = int if option["kind"] == "whole" else str
                sub.add_argument(option["flag"], type=kind, required=option.get("required", False))
    return parser


def judge(parser, args):
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(stderr), contextlib.redirect_stdout(io.StringIO()):
            values = vars(parser.parse_args(args))
    except SystemExit as exit:
        return {"code": exit.code, "stderr": stderr.getvalue(), "values": None}
    given = {k: str(v) for k, v in values.items() if v is not None and v is not False}
    return {"code": None, "stderr": "", "values": given}


request = json.load(sys.stdin)
reference = build(request["commands"])
answers = [judge(reference, case) for case in request["cases"]]
json.dump({"version": list(sys.version_info[:2]), "answers": answers}, sys.stdout)
