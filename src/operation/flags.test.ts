import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CATALOG } from "../app/catalog.ts";
import { isVivError } from "../base/errors.ts";
import { commands as overviewCommands } from "../overview/cli.ts";
import { commands as claimsCommands } from "../queue/cli/claims.ts";
import { commands as logsCommands } from "../queue/cli/logs.ts";
import { commands as tasksCommands } from "../queue/cli/tasks.ts";
import { commands as endCommands } from "../work/cli-end.ts";
import type { Command } from "./command.ts";
import { flagsOf, GLOBAL_FLAGS, parseFlags } from "./flags.ts";

const ls = overviewCommands.ls;
const cancel = tasksCommands.cancel;
const enqueue = tasksCommands.enqueue;
const { logs } = logsCommands;
const claim = claimsCommands.claim;
const complete = endCommands.complete;

const parse = async (command: Command, ...args: string[]) =>
  (await parseFlags("it", command, args)).values;

/** The sentence with which the arguments are refused. */
async function refusal(command: Command, ...args: string[]): Promise<string> {
  try {
    await parse(command, ...args);
  } catch (error) {
    if (isVivError(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "not refused";
}

describe("values", () => {
  it("come after a space or after =", async () => {
    expect(await parse(claim, "--worker", "w1")).toEqual({ worker: "w1" });
    expect(await parse(claim, "--worker=w1")).toEqual({ worker: "w1" });
    expect(await parse(claim, "--worker=a=b")).toEqual({ worker: "a=b" });
    expect(await parse(claim, "--worker=")).toEqual({ worker: "" });
  });

  it("may begin with a dash; after = with two", async () => {
    expect(await parse(complete, "--note", "-1 is wrong")).toEqual({ note: "-1 is wrong" });
    expect(await parse(complete, "--note", "-")).toEqual({ note: "-" });
    expect(await parse(complete, "--note=--force")).toEqual({ note: "--force" });
    expect(await parse(claim, "--limit", "-1")).toEqual({ max: -1 });
  });

  it("that are missing are not taken from the next flag", async () => {
    expect(await refusal(claim, "--worker", "--json")).toBe(
      "USAGE: --worker needs a value: --worker NAME",
    );
    expect(await refusal(claim, "--worker")).toBe("USAGE: --worker needs a value: --worker NAME");
    expect(await refusal(claim, "-r")).toBe("USAGE: -r needs a value: -r DIR");
  });

  it("of a list are split at commas and add up", async () => {
    expect(await parse(claim, "--types", "a,b", "--types=c", "--types", " d , e,,")).toEqual({
      types: ["a", "b", "c", "d", "e"],
    });
  });

  it("of a number are numbers", async () => {
    expect(await parse(claim, "--limit", "5")).toEqual({ max: 5 });
    for (const text of ["five", "", " ", "5s"]) {
      expect(await refusal(claim, `--limit=${text}`)).toBe(
        `USAGE: --limit ${JSON.stringify(text)} is not a number.`,
      );
    }
  });

  it("of a choice are checked, with a suggestion", async () => {
    expect(await parse(enqueue, "--priority", "low")).toEqual({ priority: "low" });
    expect(await refusal(enqueue, "--priority", "hgih")).toBe(
      'USAGE: --priority "hgih" is not known; did you mean high?',
    );
    expect(await refusal(enqueue, "--priority", "urgent")).toBe(
      'USAGE: --priority "urgent" is not known; choose from high, normal, low.',
    );
    expect(await refusal(ls, "--state", "done,pendign")).toBe(
      'USAGE: --state "pendign" is not known; did you mean pending?',
    );
  });

  it("of --payload are JSON objects", async () => {
    expect(await parse(enqueue, "--payload", '{"a":[1]}')).toEqual({ payload: { a: [1] } });
    for (const text of ["[]", "null", "1", '"x"']) {
      expect(await refusal(enqueue, "--payload", text)).toContain(
        "--payload must be a JSON object",
      );
    }
    expect(await refusal(enqueue, "--payload", "{")).toMatch(
      /^INVALID: --payload is not valid JSON: /,
    );
  });
});

describe("switches", () => {
  it("take no value", async () => {
    expect(await parse(enqueue, "--review")).toEqual({ review: true });
    expect(await refusal(enqueue, "--review=false")).toBe("USAGE: --review takes no value.");
  });

  it("have short forms", async () => {
    expect(await parse(logs, "-f", "t.1", "-h", "-r", "here")).toEqual({
      follow: true,
      help: true,
      run: "here",
      id: "t.1",
    });
    expect(await parse(logs, "-fh", "-rhere")).toEqual({ follow: true, help: true, run: "here" });
  });
});

describe("words without a flag", () => {
  it("fill the command's places", async () => {
    expect(await parse(complete, "t.1")).toEqual({ id: "t.1" });
    expect(await parse(cancel, "t.1", "t.2", "--ids", "t.0")).toEqual({
      ids: ["t.0", "t.1", "t.2"],
    });
  });

  it("may be anything after --", async () => {
    expect(await parse(complete, "--worker", "w", "--", "--json")).toEqual({
      worker: "w",
      id: "--json",
    });
    expect(await parse(cancel, "--", "-x", "-h")).toEqual({ ids: ["-x", "-h"] });
  });

  it("that have no place are refused", async () => {
    expect(await refusal(complete, "t.1", "t.2")).toBe(
      'USAGE: viv it does not know what to do with "t.2"; see: viv it --help',
    );
    expect(await refusal(complete, "t.1", "--id", "t.2")).toContain('"t.1"');
    expect(await refusal(ls, "pending")).toContain('"pending"');
  });
});

describe("unknown flags", () => {
  it("get a suggestion when one is near", async () => {
    expect(await refusal(enqueue, "--dependson", "a")).toBe(
      "USAGE: viv it has no flag --dependson; did you mean --depends-on?",
    );
    expect(await refusal(enqueue, "--pirority=high")).toContain("did you mean --priority?");
    expect(await refusal(enqueue, "--typ", "a")).toContain("did you mean --type?");
    expect(await refusal(ls, "--jsno")).toContain("did you mean --json?");
  });

  it("are refused without one otherwise", async () => {
    expect(await refusal(ls, "--frobnicate")).toBe(
      "USAGE: viv it has no flag --frobnicate; see: viv it --help",
    );
    expect(await refusal(ls, "-x")).toBe("USAGE: viv it has no flag -x; see: viv it --help");
    expect(await refusal(ls, "--__proto__", "--constructor")).toContain("has no flag --__proto__");
  });
});

describe("every command", () => {
  it.each(CATALOG.commands.map(({ name, load }) => [name, load] as const))(
    "%s: its flags have different names, a description, and read back what was written",
    async (name, load) => {
      const command = await load();
      const flags = [...(await flagsOf(command)), ...GLOBAL_FLAGS];
      expect(new Set(flags.map((flag) => flag.name)).size).toBe(flags.length);
      for (const flag of flags) {
        expect(flag.describe, `--${flag.name}`).not.toBe("");
        expect(flag.name).toMatch(/^[a-z][a-z-]*$/);
        const [written, read] = {
          string: ["a b", "a b"],
          boolean: [null, true],
          number: ["7", 7],
          list: [flag.choices?.[0] ?? "a", [flag.choices?.[0] ?? "a"]],
          json: ['{"a":1}', { a: 1 }],
        }[flag.kind] as [string | null, unknown];
        const text = flag.kind === "string" ? (flag.choices?.[0] ?? written) : written;
        const args = text === null ? [`--${flag.name}`] : [`--${flag.name}`, text];
        const expected = flag.kind === "string" ? text : read;
        expect((await parseFlags(name, command, args)).values).toEqual({ [flag.key]: expected });
      }
    },
  );

  it("any string survives as a value after =", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        expect(await parse(complete, `--note=${text}`, "--", text)).toEqual({
          note: text,
          id: text,
        });
      }),
    );
  });

  it("no arguments at all make it throw anything but a VivError", async () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom("--", "-", "--id", "--payload", "--max-attempts", "--jsonl=-", "-r", "-h"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (args) => {
        await refusal(enqueue, ...args);
      }),
    );
  });
});
