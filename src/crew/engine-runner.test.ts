import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SINGLETON } from "../../test/support/crew-host.ts";
import { newFolder } from "../../test/support/folders.ts";
import { FakeHost } from "../../test/support/machine.ts";
import { settled } from "../../test/support/up-host.ts";
import type { ClaimTree } from "../base/clock.ts";
import { accountsIn } from "../engines/accounts/account-files.ts";
import type { PriceTable } from "../engines/costs/prices.ts";
import type { ModelUsage } from "../engines/costs/usage.ts";
import type { Engine, EngineExit, EngineOutcome } from "../engines/engine.ts";
import { execEngine } from "../engines/exec.ts";
import { followLogs } from "../engines/session-logs.ts";
import type { Finished, HandlerCommand, RunningHandler } from "../platform/processes/handlers.ts";
import type { RunEnd } from "./crew-ports.ts";
import { EngineRunner } from "./engine-runner.ts";
import type { Member } from "./member-definition.ts";
import type { CrewLine } from "./member-status.ts";

const NOW = Date.parse("2026-11-15T12:00:00Z");
const EXEC: Partial<Member> = { engine: "exec", command: "./moss.sh" };
const VENDOR: Partial<Member> = { engine: "codex" };

/** Processes that the test controls. */
class FakeProcess implements RunningHandler {
  readonly command: HandlerCommand;
  readonly ref = { pid: 77, started: "s77", claim: "" };
  readonly finished: Promise<Finished>;
  readonly stops: string[] = [];
  /** Those of them that gave no grace. */
  readonly atOnce: string[] = [];
  /** Its log without stderr. */
  logged = "";
  #resolve: (finished: Finished) => void = () => {};

  constructor(command: HandlerCommand) {
    this.command = command;
    this.ref.claim = command.claim;
    this.finished = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  prints(text: string): void {
    this.command.onStdout?.(Buffer.from(text));
  }

  end(more: Partial<Finished> = {}): void {
    const well = { cause: "exit" as const, exit: 0, signal: null, durationMs: 1 };
    this.#resolve({ ...well, tail: "", dropped: 0, survivors: [], ...more });
  }

  stop(why: string, atOnce = false): Promise<Finished> {
    this.stops.push(why);
    if (atOnce) this.atOnce.push(why);
    this.end({ cause: "stopped", why, exit: null, signal: "SIGTERM" });
    return this.finished;
  }

  note(text: string): void {
    this.logged += text;
  }
}

/** One tool per line, except for the last words of a run: `answer TEXT`, or another outcome. */
function vendor(ends: (exit: EngineExit) => EngineOutcome, usage: ModelUsage[] = []): Engine {
  return {
    ...{ name: "codex", binary: "codex", reportsDollars: "at the end" },
    command: ({ prompt }) => ({ argv: ["codex"], stdin: prompt }),
    reader: () => {
      let text = "";
      return {
        session: null,
        line: (line) => {
          if (!line.startsWith("answer ")) return [{ kind: "tool", tool: "fetch", target: line }];
          text = line.slice("answer ".length);
          return [{ kind: "text", text }];
        },
        end: (exit) => ({ outcome: ends(exit), text, session: null, usage, unknown: 0 }),
      };
    },
  };
}

const DONE = vendor(() => ({ kind: "done" }));

/** Each line is a step that used so many tokens of input, all of them in one prompt. */
const SPENDER: Engine = {
  ...DONE,
  reader: () => ({
    session: null,
    line: (line) => {
      const tokens = { input: Number(line), output: 0, cacheRead: 0, cacheWrite: 0 };
      const usage = { model: "m", ...tokens, usd: null, prompt: Number(line) };
      return [{ kind: "notice", usage }];
    },
    end: () => {
      const outcome = { kind: "cut_off" as const, message: "" };
      return { outcome, text: "", session: null, usage: null, unknown: 0 };
    },
  }),
};
const PRICES: PriceTable = new Map([
  ["m", { input: 1, output: 1, long: { above: 200_000, input: 2, output: 2 } }],
]);

function scene(
  engine: Engine = execEngine,
  prices: PriceTable = new Map(),
  whyNotInstalled: (program: string) => string | null = () => null,
) {
  const processes: FakeProcess[] = [];
  const clock = { now: NOW };
  const steps = newFolder();
  const now = () => clock.now;
  const accounts = accountsIn(join(newFolder(), "accounts"), { now, random: () => 1 });
  const machine = new FakeHost().process();
  const runner = new EngineRunner(
    {
      machine: { ...machine, clock: { ...machine.clock, now } },
      handlers: {
        start: (command) => {
          const process = new FakeProcess(command);
          processes.push(process);
          return process;
        },
        endTree: async () => [],
      },
      engine: async () => engine,
      accounts,
      followLogs,
      timers: { after: () => () => {} },
      newMark: () => `mark-${processes.length}`,
      whyNotInstalled,
    },
    {
      prepare: (member) => ({ member, lifecycle: null, prompt: () => "" }),
      cwdOf: () => "/news",
      stepsPath: ({ name }) => join(steps, `${name}.jsonl`),
      env: { PATH: "/bin" },
      ...{ prices, defaults: new Map(), state: "/news/.crew" },
    },
  );
  const abort = new AbortController();
  const lines: CrewLine[] = [];
  const trees: ClaimTree[] = [];
  const spent: number[] = [];
  const warnings: string[] = [];
  const hooks = {
    ...{ prompt: "the prompt", logPath: "/log", costToday: 0, lifecycle: "draft" },
    signal: abort.signal,
    onProcess: (tree: ClaimTree) => void trees.push(tree),
    onLine: (line: CrewLine) => void lines.push(line),
    onSpent: (usd: number) => void spent.push(usd),
    warn: (message: string) => void warnings.push(message),
  };
  const run = async (member: Partial<Member>, act: (process: FakeProcess) => void) => {
    const whole = { ...SINGLETON, name: "moss", ...member };
    const ending = runner.run({ member: whole, lifecycle: null, prompt: () => "" }, hooks);
    ending.catch(() => {}); // it is awaited below
    await settled();
    act(processes.at(-1) as FakeProcess);
    return ending;
  };
  return { runner, processes, accounts, clock, abort, lines, trees, spent, warnings, hooks, run };
}

const ended = (outcome: string, note: unknown): object => ({ kind: "ended", outcome, note });

describe("a command", () => {
  it("has the prompt on stdin and its name, and is recorded before it begins", async () => {
    const { run, processes, trees } = scene();
    expect(await run(EXEC, (process) => process.end())).toMatchObject(ended("done", ""));
    expect(processes[0]?.command).toMatchObject({
      ...{ argv: ["/bin/sh", "-c", "./moss.sh"], stdin: "the prompt", cwd: "/news" },
      env: {
        ...{ PATH: "/bin", VIV_AGENT: "moss", VIV_MODE: "plan", VIV_LIFECYCLE: "draft" },
        VIV_CREW_STATE: "/news/.crew",
      },
      ...{ logPath: "/log", timeoutMs: 15 * 60_000 },
    });
    const claim = processes[0]?.command.claim;
    expect(trees).toEqual([
      { host: "fake", boot: "boot-1", pid: 0, started: "0", claim },
      { host: "fake", boot: "boot-1", pid: 77, started: "s77", claim },
    ]);
  });

  it.each([
    ["wrote three\nlines", "done", "wrote three"],
    ["NO-WORK: nothing on the board", "no_work", "NO-WORK: nothing on the board"],
    ["  no-work", "no_work", "no-work"],
    ["all done, NO-WORK left", "done", "all done, NO-WORK left"],
  ])("that prints %j is %s", async (text, outcome, note) => {
    const { run, lines, processes } = scene();
    const end = await run(EXEC, (process) => {
      process.prints(`${text}\n`);
      process.end();
    });
    expect(end).toMatchObject({ ...ended(outcome, note), usd: null });
    expect(lines[0]).toMatchObject({ ts: NOW / 1000, agent: "moss" });
    expect(processes[0]?.logged).toContain(text.split("\n")[0]?.trim());
  });

  it.each<[string, Partial<Finished>, string, unknown]>([
    ["exits with 3", { exit: 3, tail: "cannot" }, "failed", expect.stringContaining("cannot")],
    ["has no time left", { cause: "timed_out", exit: 0 }, "killed", "its time was up"],
    ["dies of a signal", { exit: null, signal: "SIGSEGV" }, "crashed", "ended by SIGSEGV"],
    [
      ...["cannot be started", { cause: "unstartable", exit: null, error: "no sh" }, "crashed"],
      "no sh",
    ] as [string, Partial<Finished>, string, unknown],
  ])("that %s", async (_, finished, outcome, note) => {
    const { run } = scene();
    expect(await run(EXEC, (process) => process.end(finished))).toMatchObject(ended(outcome, note));
  });

  it("that the machine has no room for is held, and not counted as a crash", async () => {
    const { run } = scene();
    const finished = { cause: "unstartable", exit: null, error: "full", code: "EAGAIN" } as const;
    const end = await run(EXEC, (process) => process.end(finished));
    expect(end).toMatchObject({ kind: "held", note: "full", until: NOW + 30_000 });
  });

  it("that asks to be tried later is held, and closes no account", async () => {
    const { run, accounts } = scene();
    const end = await run(EXEC, (process) => process.end({ exit: 75 }));
    expect(end).toMatchObject({ kind: "held", until: null });
    expect(accounts.list()).toEqual([]);
  });

  it("is stopped by hand, also before it has begun", async () => {
    const { run, abort, processes } = scene();
    const end = await run(EXEC, () => abort.abort());
    expect(end).toMatchObject(ended("killed", "stopped by hand"));
    expect(processes[0]).toMatchObject({ stops: ["stopped by hand"], atOnce: [] });
    const early = scene();
    early.abort.abort();
    expect(await early.run(EXEC, () => {})).toMatchObject(ended("killed", "stopped by hand"));
  });

  it("needs to be one", async () => {
    const { run } = scene();
    await expect(run({ ...EXEC, command: null }, () => {})).rejects.toThrow("needs a command");
  });
});

describe("a vendor", () => {
  it("may make sixty steps, and not one more", async () => {
    const sixty = scene(DONE);
    const fine = await sixty.run(VENDOR, (process) => {
      process.prints("https://arxiv.org\n".repeat(60));
      process.prints("answer found\n");
      process.end();
    });
    expect(fine).toMatchObject(ended("done", "found"));
    expect(sixty.lines.filter((line) => "tool" in line)).toHaveLength(60);
    expect(sixty.lines[0]).toEqual({
      ...{ tool: "fetch", target: "https://arxiv.org", ts: NOW / 1000, agent: "moss" },
    });

    const more = scene(
      vendor(({ wasEnded }) => ({ kind: wasEnded ? "cut_off" : "done", message: "" })),
    );
    const end = await more.run(VENDOR, (process) =>
      process.prints("https://arxiv.org\n".repeat(61)),
    );
    expect(end).toMatchObject(ended("failed", expect.stringContaining("60")));
    expect(more.processes[0]?.stops).toHaveLength(1);
  });

  it("that is limited closes its account for all, until its reset time", async () => {
    const until = new Date(NOW + 3_600_000).toISOString();
    const limited = vendor(() => ({ kind: "rate_limited", message: "429", until }));
    const { run, runner, clock } = scene(limited);
    const end = await run(VENDOR, (process) => process.end({ exit: 1 }));
    expect(end).toMatchObject({ kind: "held", until: NOW + 3_600_000 });
    const codex = { ...SINGLETON, ...VENDOR } as Member;
    expect(runner.heldBy(codex, 0)).toMatchObject({ until: NOW + 3_600_000 });
    expect(runner.heldBy({ ...SINGLETON, engine: "claude" }, 0)).toBe(null);
    expect(runner.heldBy({ ...SINGLETON, ...EXEC } as Member, 0)).toBe(null);
    clock.now = NOW + 3_600_001;
    expect(runner.heldBy(codex, 0)).toBe(null);
  });

  it("that is not logged in holds the member until a person acts", async () => {
    const stranger = vendor(() => ({ kind: "unauthorized", message: "401", todo: "codex login" }));
    const { run, runner } = scene(stranger);
    const end = await run(VENDOR, (process) => process.end({ exit: 1 }));
    expect(end).toMatchObject({ kind: "held", until: null });
    expect(runner.heldBy({ ...SINGLETON, ...VENDOR } as Member, 0)?.note).toContain("401");
  });

  it("reports its cost, and its budget of the day holds it until midnight", async () => {
    const tokens = { input: 1, output: 1, cachedRead: 0, cachedWrite: 0 };
    const usage = [{ model: "m", ...tokens, usd: 0.25 }] as unknown as ModelUsage[];
    const { run, runner } = scene(vendor(() => ({ kind: "done" }), usage));
    const end: RunEnd = await run({ ...VENDOR, budgetUsdDay: 1 }, (process) => {
      process.prints("answer written\n");
      process.end();
    });
    expect(end).toMatchObject({ ...ended("done", "written"), usd: 0.25 });
    const rich = { ...SINGLETON, ...VENDOR, budgetUsdDay: 1 } as Member;
    expect(runner.heldBy(rich, 0.99)).toBe(null);
    expect(runner.heldBy(rich, 1)).toEqual({
      ...{ note: "its $1 of today are used up", until: Date.parse("2026-11-16T00:00:00Z") },
    });
  });
});

describe("the program of an engine", () => {
  const missing = (program: string) => `there is no program ${program} in PATH`;

  it("that is missing is a mistake of the member, with the places where it may appear", () => {
    const { runner } = scene(execEngine, new Map(), missing);
    const prepared = () => runner.prepare({ ...SINGLETON, engine: "codex" });
    expect(prepared).toThrow(
      "its engine codex cannot start: there is no program codex in PATH ([engines.codex] in viv.toml)",
    );
    expect(prepared).toThrow(
      expect.objectContaining({ code: "INVALID", details: { paths: ["/bin/codex"] } }),
    );
  });

  it("is not looked for where viv or the shell runs it", () => {
    const { runner } = scene(execEngine, new Map(), missing);
    for (const engine of ["exec", "llm", "script"] as const) {
      expect(runner.prepare({ ...SINGLETON, engine }).member.engine).toBe(engine);
    }
  });
});

describe("the cost of a run", () => {
  it("is counted while it runs, at the price of each answer", async () => {
    const { run, spent } = scene(SPENDER, PRICES);
    const end = await run(VENDOR, (process) => {
      process.prints("100000\n150000\n");
      expect(spent).toEqual([0.1, 0.25]);
      process.prints("250000\n"); // a long prompt, at twice the price
      process.end({ exit: 1 });
    });
    expect(spent).toEqual([0.1, 0.25, 0.75]);
    expect(end.kind).toBe("ended");
  });

  it("ends it at once when it is more than it may", async () => {
    const { run, hooks, processes } = scene(SPENDER, PRICES);
    hooks.costToday = 0.9;
    const end = await run({ ...VENDOR, budgetUsdDay: 1 }, (process) => process.prints("150000\n"));
    expect(end).toMatchObject({ kind: "held", usd: 0.15 });
    expect(processes[0]?.stops).toHaveLength(1);
    expect(processes[0]?.atOnce).toEqual(processes[0]?.stops);
  });
});

describe("RUN-IF", () => {
  const ask = async (act: (process: FakeProcess) => void) => {
    const one = scene();
    const member = { ...SINGLETON, ...EXEC, name: "moss", runIf: "test -s inbox" } as Member;
    const asking = one.runner.isDue(member, one.hooks);
    await settled();
    act(one.processes[0] as FakeProcess);
    return { ...one, answer: asking };
  };

  it("is a shell command; 0 means yes, its last line is the reason", async () => {
    const yes = await ask((process) => process.end());
    expect(await yes.answer).toMatchObject({ due: true });
    expect(yes.processes[0]?.command).toMatchObject({
      ...{ argv: ["/bin/sh", "-c", "test -s inbox"], cwd: "/news", timeoutMs: 60_000 },
      logPath: "/news/.crew/run-if-moss.log",
      env: { VIV_AGENT: "moss" },
    });
    const no = await ask((process) => process.end({ exit: 1, tail: "a\nnothing new\n" }));
    expect(await no.answer).toEqual({ due: false, note: "nothing new" });
  });

  it("that hangs, dies or cannot be started means no", async () => {
    const hung = await ask((process) => process.end({ cause: "timed_out", exit: 0 }));
    expect(await hung.answer).toEqual({ due: false, note: "its RUN-IF took longer than a minute" });
    const died = await ask((process) => process.end({ exit: null, signal: "SIGKILL" }));
    expect(await died.answer).toMatchObject({ due: false });
    const never = await ask((process) =>
      process.end({ cause: "unstartable", exit: null, error: "no sh" }),
    );
    expect(await never.answer).toEqual({ due: false, note: "no sh" });
  });

  it("is written down before it begins, and ended at once when the crew stops", async () => {
    const { answer, trees, processes } = await ask(() => {});
    expect(trees.map(({ pid, claim }) => [pid, claim])).toEqual([
      [0, "mark-0"],
      [77, "mark-0"],
    ]);
    processes[0]?.end();
    await answer;
    const stopped = await ask(() => {});
    stopped.abort.abort();
    await expect(stopped.answer).rejects.toThrow();
    expect(stopped.processes[0]?.stops).toEqual(["stopped"]);
  });
});
