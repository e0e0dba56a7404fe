// Shared by the stand-ins for the vendors' programs. Each prints its vendor's stream, selected by
// VENDOR_SCENARIO or by "scenario: NAME" in the prompt, and knows only the flags that vendor knows.

import { appendFileSync, readFileSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { WAITS } from "./waits.mjs";

/** As each prints it. */
const VERSIONS = {
  claude: "2.1.283 (Claude Code)",
  codex: "codex-cli 0.154.0",
  gemini: "0.64.0",
  opencode: "1.18.32",
};

/** Ends as a program does that was called wrongly. */
function misused(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(64);
}

/**
 * `flags`: true for one without a value, "value" for one with any, a list for one of those.
 * Returns { flags, words }.
 */
export function parse(argv, flags) {
  if (argv.join(" ") === "--version") {
    process.stdout.write(`${VERSIONS[basename(process.argv[1], ".mjs")] ?? "0.0.0"}\n`);
    process.exit(0);
  }
  const found = { flags: {}, words: [] };
  for (let i = 0; i < argv.length; i++) {
    const [name, ...rest] = argv[i].split("=");
    const kind = flags[name];
    if (!argv[i].startsWith("-") || argv[i] === "-") found.words.push(argv[i]);
    else if (kind === undefined) misused(`unknown option '${argv[i]}'`);
    else if (kind === true) found.flags[name] = true;
    else {
      const value = rest.length > 0 ? rest.join("=") : argv[++i];
      if (value === undefined) misused(`option '${name}' needs a value`);
      if (Array.isArray(kind) && !kind.includes(value)) {
        misused(`invalid value '${value}' for '${name}': ${kind.join(", ")}`);
      }
      found.flags[name] = value;
    }
  }
  return found;
}

/** Reads the prompt, and plays the scenario it or the environment names. */
export function play(vendor, { flags, words }, scenarios) {
  const prompt = readFileSync(0, "utf8");
  if (prompt.trim() === "") misused("no prompt on stdin");
  if (process.env.VENDOR_RECORD) {
    const { OPENCODE_PERMISSION, GEMINI_CLI_TRUST_WORKSPACE } = process.env;
    const env = { OPENCODE_PERMISSION, GEMINI_CLI_TRUST_WORKSPACE };
    const record = { vendor, argv: process.argv.slice(2), prompt, cwd: process.cwd(), env };
    appendFileSync(process.env.VENDOR_RECORD, `${JSON.stringify(record)}\n`);
  }
  const named = /\bscenario: *([\w-]+)/.exec(prompt)?.[1];
  const name = process.env.VENDOR_SCENARIO || named || "good";
  const waits = WAITS[vendor][/^waits-(\w+)$/.exec(name)?.[1] ?? ""];
  if (waits) return wait(waits);
  const scenario = scenarios[name];
  if (scenario === undefined)
    misused(`no scenario '${name}': ${Object.keys(scenarios).join(", ")}`);
  process.exitCode = scenario({ flags, words, prompt }) ?? 0;
}

/** Says what keeps it, and tries again by itself until it is ended. */
function wait(lines) {
  for (const [stream, line] of lines) {
    if (stream === "out") raw(`${line}\n`);
    else complain(line);
  }
  setInterval(() => {}, 60_000);
}

export function raw(bytes) {
  const data = Buffer.from(bytes);
  for (let at = 0; at < data.length; ) {
    try {
      at += writeSync(1, data, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

export function event(value) {
  raw(`${JSON.stringify(value)}\n`);
}

export function complain(text) {
  writeSync(2, `${text}\n`);
}

/** What no reader may stumble over: no JSON, half of it, other JSON, and none at all. */
export function garbage() {
  raw('not json at all\n{"type":"assist\n[1,2,3]\n"a string"\nnull\n42\n\n   \n{}\n{"type":7}\n');
  raw(
    '{"type":"assistant"}\n{"type":"result","subtype":7,"usage":"no"}\n'.replace(/result/, "odd"),
  );
}

/** The same line as a terminal would have it, and one with bytes that are no text. */
export function coloured(value) {
  raw(`\u001b]0;title\u0007\u001b[2K\u001b[1;32m${JSON.stringify(value)}\u001b[0m\r\n`);
}

export function notText() {
  raw([0xff, 0xfe, 0x80, 0x20, 0xc3, 0x28, 0x0a]);
}

/** Dies as a process does that ran out of memory. */
export function killSelf() {
  process.kill(process.pid, "SIGKILL");
}

/** When a limit is lifted, in seconds since 1970: in an hour, unless VENDOR_RESETS_AT says. */
export const RESETS_AT = Number(
  process.env.VENDOR_RESETS_AT ?? Math.round(Date.now() / 1000) + 3600,
);

export const HUGE = 1_000_000;
