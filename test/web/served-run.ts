import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Claim, openRun, type Store } from "../../src/main.ts";
import { environment, VIV, viv } from "../cli/support.ts";
import { within } from "../support/deadline.ts";

/** A real run behind a real `viv serve`, for tests of the page with everything in between. */
export interface ServedRun extends Place {
  run: string;
  address: string;
  store: Store;
  /** The folder of a task now: `review`, `claimed`; null when there is none. */
  stateOf(id: string): Promise<string | null>;
  /** Opens the page with the right to change. */
  loginLink(): string;
  stopServer(signal?: NodeJS.Signals): Promise<void>;
  startServer(): Promise<void>;
  end(): Promise<void>;
}

const CONFIG = `run = "run"

[[schedule]]
name = "nightly"
cron = "0 7 * * *"
type = "audit"
`;

/** What a run is made of before its server starts. */
export interface Place {
  folder: string;
  /** In its folder, with its state; fails with what the command says. */
  viv(...args: string[]): string;
  /** A command that runs until `end()`. */
  start(...args: string[]): ChildProcess;
}

/** Until `end()`: several tests share it. `config` is added to its viv.toml. */
export async function serveNewRun(
  fill: (store: Store, place: Place) => Promise<void> = async () => {},
  config = "",
): Promise<ServedRun> {
  const folder = mkdtempSync(join(tmpdir(), "viv-web-"));
  const run = join(folder, "run");
  const env = { VIV_STATE: join(folder, "state"), HOME: folder, USER: "ada", VIV_RUN: "" };
  mkdirSync(env.VIV_STATE, { mode: 0o700 });
  writeFileSync(join(folder, "viv.toml"), CONFIG + config);
  const store = await openRun(run, { create: true, durability: "fast" });
  const say = (...args: string[]) => {
    const { status, stdout, stderr } = viv(args, { cwd: folder, env });
    if (status !== 0) throw new Error(`viv ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  };
  const started: ChildProcess[] = [];
  const start = (...args: string[]) => {
    const child = spawn(process.execPath, [VIV, ...args], {
      ...{ cwd: folder, env: environment(env), stdio: ["pipe", "pipe", "inherit"] },
    });
    started.push(child);
    return child;
  };
  await fill(store, { folder, viv: say, start });
  let server: ChildProcess | null = null;
  let port = "0";
  const served: ServedRun = {
    ...{ folder, run, store, address: "", viv: say, start },
    stateOf: async (id) => (await store.show(id))?.state ?? null,
    loginLink: () => say("token", "--link"),
    async startServer() {
      server = start("serve", "--port", port, "--json", "--until-stdin-closes");
      const lines = createInterface(server.stdout as NodeJS.ReadableStream);
      const first = Promise.race([once(lines, "line"), once(server, "exit")]);
      const [line] = await within("the server is up", first);
      served.address = (JSON.parse(String(line)) as { address: string }).address;
      port = new URL(served.address).port;
    },
    async stopServer(signal = "SIGTERM") {
      if (server !== null) await endNow(server, signal);
      server = null;
    },
    async end() {
      server = null;
      await Promise.all(started.map((child) => endNow(child, "SIGKILL")));
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await served.startServer();
  return served;
}

async function endNow(child: ChildProcess, signal: NodeJS.Signals) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await within("it has ended", ended);
}

const proof = { command: "true", exit: 0, signal: null, timed_out: false, duration_ms: 5 };

/** Tasks in every state, each made as a worker or a person makes it. */
export async function fillWithAllStates(store: Store): Promise<void> {
  const goal = (text: string) => ({ goal: text });
  const add = (id: string, more: object = {}) =>
    store.enqueue({ id, type: "fix", payload: goal(`Repair part ${id}`), ...more });
  const claim = async (id: string, worker = "ada") => {
    const [one] = await store.claim({ worker, max: 1 });
    if (one?.id !== id) throw new Error(`${one?.id} was claimed, and not ${id}`);
    return one;
  };
  for (const id of ["review.1", "review.2", "review.3"]) {
    await add(id, { review: true, done_when: id === "review.3" ? "true" : undefined });
    const one = await claim(id);
    await store.append({ event: "step", ...of(one), tool: "Edit", target: "a.ts", ...used(0.1) });
    await store.artifacts.write(`${id}.proof.json`, proofOf(one.attempt));
    await store.artifacts.write(`${id}.md`, `# Done\n\n- repaired ${id}\n`);
    await store.complete(one);
  }
  for (const id of ["done.1", "done.2"]) {
    await add(id);
    await store.complete(await claim(id));
  }
  for (const id of ["failed.1", "failed.2"]) {
    await add(id);
    await store.fail(await claim(id), { note: "exit 1: 3 tests failed", final: true });
  }
  await add("working.1");
  const held = await claim("working.1", "bob");
  await store.append({ event: "step", ...of(held), tool: "Bash", target: "npm test" });
  await store.artifacts.write("working.1.log", "it begins\nand works");
  await add("working.2");
  await claim("working.2", "cyd");
  for (const id of ["ready.1", "ready.2", "ready.3"]) await add(id);
  await add("waiting.1", { depends_on: ["ready.1"] });
}

const of = ({ id, worker, token, attempt, task }: Claim) => ({
  ...{ task: id, type: task.task_type, worker, token, attempt },
});
const used = (usd: number) => ({
  ...{ model: "opus", usd, source: "reported" },
  tokens: { input: 1000, output: 100, cache_read: 0, cache_write: 0 },
});
const proofOf = (attempt: number) =>
  JSON.stringify({ ...proof, attempt, at: new Date().toISOString(), output: "ok", dropped: 0 });
