import { describe, expect, it } from "vitest";
import { CATALOG } from "../app/catalog.ts";
import { ERROR_CODES, EXIT_STATUS } from "../base/errors.ts";
import { familyOf, findCommand } from "./catalog.ts";
import { flagsOf, GLOBAL_FLAGS, parseFlags } from "./flags.ts";
import { familyHelp, helpFor, overview } from "./help.ts";
import { termFor } from "./term.ts";

const pipe = { write: () => true };
// biome-ignore lint/suspicious/noExplicitAny: only the environment is looked at
const term = termFor({ env: {} } as any, pipe);

/** The words of a line as a shell would see them: enough for what help texts use. */
function words(line: string): string[] {
  const found: string[] = [];
  for (const match of line.matchAll(/(?:[^\s"']|"(?:[^"\\]|\\.)*"|'[^']*')+/g)) {
    found.push(
      match[0].replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double, single) =>
        double === undefined ? single : double.replace(/\\(.)/g, "$1"),
      ),
    );
  }
  return found;
}

/** Every call of viv in a shell line: after |, && and ; begins another command. */
function callsOfViv(line: string): string[][] {
  const calls: string[][] = [[]];
  for (const word of words(line)) {
    if (["|", "&&", ";"].includes(word)) calls.push([]);
    else calls.at(-1)?.push(word);
  }
  const isVariable = (word: string | undefined) => /^[A-Z_]+=/.test(word ?? "");
  return calls
    .map((call) => call.slice(call.findIndex((word) => !isVariable(word))))
    .filter(([program]) => program === "viv")
    .map(([, ...args]) => args);
}

async function expectParses(line: string): Promise<void> {
  const calls = callsOfViv(line);
  expect(calls.length, line).toBeGreaterThan(0);
  for (const words of calls) {
    if (CATALOG.others.some((other) => other.name === words[0])) continue;
    const found = findCommand(CATALOG, words);
    if (!found) throw new Error(`no such command: ${line}`);
    const first = await found.entry.load();
    const { values } = await parseFlags(found.entry.name, first, found.rest);
    const { run: _, json: __, ...given } = values;
    const command = (await first.instead?.(values)) ?? first;
    const extras = Object.keys(command.flags ?? {});
    const input = Object.fromEntries(
      Object.entries(given).filter(([key]) => !extras.includes(key)),
    );
    expect(command.op.input.safeParse(input).error, line).toBeUndefined();
  }
}

describe("the overview", () => {
  const text = overview(CATALOG, term);

  it("names every command with its summary", () => {
    const single = CATALOG.commands.filter(({ name }) => !name.includes(" "));
    const families = Object.entries(CATALOG.families).map(([name, { summary }]) => ({
      name,
      summary,
    }));
    for (const { name, summary } of [...single, ...families, ...CATALOG.others]) {
      expect(text).toMatch(new RegExp(`^  ${name} +${summary}$`, "m"));
    }
  });

  it("and viv FAMILY names those of several words", () => {
    for (const { name } of CATALOG.commands.filter((entry) => entry.name.includes(" "))) {
      const word = name.split(" ")[0] ?? "";
      expect(CATALOG.families[word]?.summary, word).toContain(name.split(" ")[1]);
      expect(familyHelp(CATALOG, word, familyOf(CATALOG, word), term)).toContain(`viv ${name} `);
    }
  });

  it("documents every exit status", () => {
    const statuses = new Set([0, 1, 70, ...ERROR_CODES.map((code) => EXIT_STATUS[code])]);
    const sentence = text.slice(text.indexOf("Exit statuses:")).replaceAll("\n", " ");
    for (const status of statuses) expect(sentence).toMatch(new RegExp(`(^|[ ,:])${status} \\w`));
  });

  it("has examples that parse", async () => {
    const lines = text
      .slice(text.indexOf("\nTry\n") + 5, text.indexOf("\nviv COMMAND"))
      .split("\n")
      .map((line) => line.replace(/#.*/, "").trim())
      .filter((line) => line !== "");
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) await expectParses(line);
  });
});

describe.each(CATALOG.commands.map(({ name, load }) => [name, load] as const))(
  "viv %s --help",
  (name, load) => {
    it("names every flag with its description", async () => {
      const command = await load();
      const text = await helpFor(name, command, term);
      for (const flag of [...(await flagsOf(command)), ...GLOBAL_FLAGS]) {
        const at = text.search(new RegExp(`--${flag.name}( |$)`, "m"));
        expect(at, `--${flag.name}`).toBeGreaterThan(0);
        expect(text.slice(at)).toContain(flag.describe);
      }
    });

    it("has a usage line of words for values, not of lists", async () => {
      const text = await helpFor(name, await load(), term);
      const usage = text.split("\n")[2] ?? "";
      expect(usage).toMatch(
        new RegExp(
          `^  viv ${name}( \\[?([A-Z]+|[a-z]+(\\|[a-z]+)+)( …)?\\]?)*( --[a-z-]+ ([A-Z]+|[a-z]+(\\|[a-z]+)+))* \\[flags\\]$`,
        ),
      );
    });

    it("names every choice of a flag", async () => {
      const command = await load();
      const text = await helpFor(name, command, term);
      for (const { choices } of await flagsOf(command))
        for (const choice of choices ?? []) expect(text).toMatch(new RegExp(`\\b${choice}\\b`));
    });

    it("has examples that parse", async () => {
      const command = await load();
      expect(command.examples.length).toBeGreaterThan(0);
      for (const [example] of command.examples) await expectParses(example);
    });

    it("has examples that name the command", async () => {
      const command = await load();
      const names = command.examples.flatMap(([example]) =>
        callsOfViv(example).map((words) => findCommand(CATALOG, words)?.entry.name),
      );
      expect(names).toContain(name);
    });
  },
);
