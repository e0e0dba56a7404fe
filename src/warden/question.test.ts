import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import {
  type AliveAnswer,
  assertNonce,
  isAnswerOf,
  newNonce,
  type Question,
  questionOf,
} from "./question.ts";
import type { BoundProcess } from "./warrant.ts";

const warrant = {
  ...{ target: "*(e:touch pwned:)", reason: "$(touch pwned)", requester: "`touch pwned`" },
};
const questionWith = (nonce: string): Question =>
  questionOf({ warrant }, { number: 1, nonce, timeout_ms: 60_000 }, 3);

const nonces = fc
  .array(fc.nat(1000), { minLength: 6, maxLength: 6 })
  .map((numbers) => newNonce((below) => (numbers.pop() ?? 0) % below));

test("the typed line has words and digits, and no sign that a shell knows", () => {
  fc.assert(
    fc.property(nonces, (nonce) => {
      const { typed, typedToAgent } = questionWith(nonce);
      expect(nonce).toMatch(/^[a-z]{4}[2-6]{2}$/);
      expect(typed).toMatch(/^Warden( [A-Za-z0-9]+)+$/);
      expect(typedToAgent).toMatch(/^Warden health check Nonce: \w+ \(saying [\w ]+\)$/);
    }),
  );
});

/** The shells, as they take a line that is typed: `-i`, with globs that find nothing left as an error. */
const SHELLS: readonly (readonly [string, ...string[]])[] = [
  ["bash", "--norc", "--noprofile", "-O", "extglob", "-O", "nullglob", "-ic"],
  ["dash", "-c"],
  ["zsh", "-f", "-o", "extendedglob", "-o", "nullglob", "-o", "kshglob", "-ic"],
  ["zsh", "-f", "-o", "autocd", "-o", "globsubst", "-ic"],
  ["fish", "--no-config", "-c"],
  ["tcsh", "-fc"],
  ["ksh", "-c"],
  ["mksh", "-c"],
];
const pathOf = (shell: string) =>
  spawnSync("sh", ["-c", `command -v ${shell}`], { encoding: "utf8" }).stdout.trim();
const has = (shell: string) => pathOf(shell) !== "";

/** Every word of it is a program that leaves a trace; but for the two that must be none. */
function trapsFor(lines: readonly string[], trace: string): string {
  const folder = newFolder("viv-traps-");
  const names = new Set(lines.flatMap((line) => line.split(/[ ():]+/)));
  for (const name of [...names, "say", "touch", "pwn", "#"]) {
    if (["", "Warden", "saying"].includes(name)) continue;
    writeFileSync(join(folder, name), `#!/bin/sh\necho ${name} >>'${trace}'\n`, { mode: 0o755 });
  }
  return folder;
}

for (const [shell, ...options] of SHELLS) {
  const name = [shell, ...options].join(" ");
  if (!has(shell)) console.log(`${shell} is not installed: not tried with what is typed`);
  test.skipIf(!has(shell))(`${name}: what is typed runs no program`, () => {
    const folder = newFolder("viv-shell-");
    const names = ["*(e:touch pwned:)", "-rf", "a", "on", "line", "health", "N (say", "$(pwn)"];
    for (const one of names) writeFileSync(join(folder, one), "touch pwned\n");
    const trace = join(newFolder("viv-trace-"), "trace");
    const { typed, typedToAgent } = questionWith("kfrm24");
    const PATH = trapsFor([typed, typedToAgent], trace);
    const beginnings = (text: string) => [text.length, 60, 45, 40, 30, 20, 10, 3];
    const cut = [typed, typedToAgent].flatMap((text) =>
      beginnings(text).map((length) => text.slice(0, length)),
    );
    const twice = [typed, typedToAgent].map((text) => `${text}${text}`);
    for (const line of [...cut, ...twice, `${typed} please`]) {
      const { error } = spawnSync(pathOf(shell), [...options, line], {
        ...{ cwd: folder, env: { PATH, HOME: folder, TERM: "dumb" }, input: "", timeout: 20_000 },
      });
      expect(error).toBeUndefined();
      expect({ line, isRun: existsSync(trace) && readFileSync(trace, "utf8") }).toEqual({
        ...{ line, isRun: false },
      });
    }
    const files = readdirSync(folder).filter((one) => !/^\.(config|local|cache)$/.test(one)); // fish
    expect(files.sort()).toEqual(names.sort());
  });
}

/** All that may be left of a line of which a program has read a part. */
function endsOf(text: string): string[] {
  return Array.from({ length: text.length }, (_, at) => text.slice(at)).filter(
    (end) => end.trim() !== "",
  );
}

test("the rest of a partly read line begins with no program and no word of a shell", () => {
  const { typed } = questionWith("kfrm24");
  const firsts = [...new Set(endsOf(typed).map((end) => end.trim().split(" ")[0] as string))];
  for (const [shell] of SHELLS.filter(([one]) => has(one))) {
    const isFish = shell === "fish";
    const isCsh = shell === "tcsh";
    if (isCsh) continue; // `which` there finds the programs that the others find, too
    const check = isFish
      ? firsts.map((word) => `type -q '${word}'; and echo '${word}'`)
      : firsts.map((word) => `command -v '${word}' 2>/dev/null`);
    const { stdout } = spawnSync(shell, ["-c", check.join("\n")], { encoding: "utf8" });
    expect({ shell, found: stdout }).toEqual({ shell, found: "" });
  }
});

const bound: BoundProcess = {
  ...{ is: "process", host: "h", boot: "b", pid: 7, started: "70", claim: "" },
};
const answer = (more: Partial<AliveAnswer> = {}) =>
  JSON.stringify({
    ...{ nonce: "abc123", at: "", host: "h", boot: "b", claim: "" },
    chain: [
      { pid: 9, started: "90" },
      { pid: 7, started: "70" },
      { pid: 1, started: "1" },
    ],
    ...more,
  });

test("an answer counts from the target, its descendants, and processes with its mark", () => {
  expect(isAnswerOf(answer(), "abc123", bound)).toBe(true);
  expect(isAnswerOf(answer({ chain: [{ pid: 7, started: "71" }] }), "abc123", bound)).toBe(false);
  expect(isAnswerOf(answer({ chain: [] }), "abc123", bound)).toBe(false);
  expect(isAnswerOf(answer({ boot: "c" }), "abc123", bound)).toBe(false);
  expect(isAnswerOf(answer(), "other", bound)).toBe(false);
  const marked = { ...bound, claim: "c1" };
  expect(isAnswerOf(answer({ chain: [], claim: "c1" }), "abc123", marked)).toBe(true);
  expect(isAnswerOf(answer({ chain: [], claim: "" }), "abc123", bound)).toBe(false);
  const server = { pid: 7, started: "70" };
  const session = { is: "session", socket: "/s", server, session: "$1", created: 1 } as const;
  expect(isAnswerOf(answer(), "abc123", session)).toBe(true);
  expect(isAnswerOf(answer({ chain: [] }), "abc123", session)).toBe(false);
  for (const text of [null, "", "{}", "[]", "null", "ALIVE"]) {
    expect(isAnswerOf(text, "abc123", bound)).toBe(false);
  }
});

test("a nonce is a name of four characters or more", () => {
  expect(assertNonce("k3x9-Qz")).toBe("k3x9-Qz");
  for (const bad of ["", "a", "../../x", "a b", "a\0b"]) {
    expect(() => assertNonce(bad)).toThrow("is no nonce");
  }
});

test("a target without a terminal gets the seed's message, and how to answer it", () => {
  const { lines } = questionOf(
    { warrant: { target: "Toast", reason: "stuck_no_progress", requester: "deacon" } },
    { number: 2, nonce: "kfrm24", timeout_ms: 120_000 },
    3,
  );
  expect(lines).toEqual([
    "[DOG] HEALTH CHECK: Session Toast, respond ALIVE within 120s or face termination.",
    "Warrant reason: stuck_no_progress",
    "Filed by: deacon",
    "Attempt: 2/3",
    "Nonce: kfrm24 (to answer, run: viv alive kfrm24)",
  ]);
});
