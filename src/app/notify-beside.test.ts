import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../../test/support/deadline.ts";
import { newFolder } from "../../test/support/folders.ts";
import { service } from "../../test/support/services.ts";
import type { Context } from "../operation/operation.ts";
import { unitFiles } from "../platform/systemd/unit-files.ts";
import type { Receipt } from "../warden/dance.ts";
import { wardenFilesIn } from "../warden/warden-files.ts";
import { findConfig } from "./find-run.ts";
import { notifyBeside } from "./notify-beside.ts";
import { openRun } from "./open-run.ts";
import { portsHere } from "./ports.ts";

const EVENTS = '["budget_used", "account_closed", "executed", "parked"]';

async function scene() {
  const folder = newFolder();
  const there = await service();
  const routes = '[handlers.default]\nengine = "claude"\naccount = "main"\nprompt = "p"\n';
  const notify = `[[notify]]\non = ${EVENTS}\nwebhook = "${there.url}"\n`;
  writeFileSync(join(folder, "viv.toml"), routes + notify);
  const env = { VIV_STATE: join(folder, "state"), PATH: process.env.PATH };
  const io = { cwd: folder, env, stderr: { write: () => {} }, argv: [] } as never;
  const program = { node: "", viv: "", unitFiles: async () => unitFiles };
  const provide = portsHere({ env, cwd: folder, program, notice: () => {} });
  const context: Context = {
    ...{ now: Date.now, here: { cwd: folder, env, config: await findConfig(io) } },
    ...{ signal: new AbortController().signal, urgent: new AbortController().signal },
    use: (port) => provide(port, null),
    input: async function* () {},
  };
  const errors: string[] = [];
  const beside = (command: string, store: Parameters<typeof notifyBeside>[2]) =>
    notifyBeside(command, context, store, (message) => errors.push(message));
  const texts = () =>
    there.got.flatMap(({ body }) =>
      JSON.parse(body).events.map((one: { text: string }) => one.text),
    );
  return { folder, env, beside, texts, errors };
}

describe("news of rooms", () => {
  it("a worker's: a budget that is used up, and an account, each once", async () => {
    const { folder, env, beside, texts, errors } = await scene();
    const store = await openRun(join(folder, "run"), { create: true });
    const accounts = await (await import("./worker-host.ts")).accountsHere(env, folder);
    const one = await beside("work", store);
    const closing = { reason: "unauthorized" as const, message: "log in", todo: "log in" };
    const by = { run: "run", worker: "w", task: "a" };
    await accounts.close("main", { ...closing, by } as never);
    const used = "the budget of this day is used up: $1.90 of $2.00, and a step may cost $0.20";
    const reserved = "the rest of the budget is reserved by running attempts";
    const held = { kind: "held", reasons: [used, reserved, "account main is parked: log in"] };
    one.hear(held);
    one.hear(held);
    await until("both are told", () => texts().length === 2);
    await one.stop();
    // The next worker meets the same.
    const two = await beside("work", store);
    two.hear(held);
    await two.stop();
    expect(texts().sort()).toEqual(["account main is parked: log in", used]);
    expect(errors).toEqual([]);
    await store.close();
  });

  it("a warden's: an execution, also one that no process was there to tell of", async () => {
    const { folder, beside, texts } = await scene();
    const state = join(folder, "warden");
    const files = wardenFilesIn(state);
    const receipt = (dog: string, verdict: string, ended: number) =>
      ({
        ...{ dog, verdict, why: "it was silent", ended_at: new Date(ended).toISOString() },
        ...{ warrant: { id: `w-${dog}`, target: `agent-${dog}` }, attempts: [], told: [] },
      }) as unknown as Receipt;
    await files.take();
    files.writeReceipt(receipt("old", "executed", Date.now() - 60_000));
    const one = await beside("warden up", null);
    one.hear({ kind: "up", pid: 1, pool: 5, state });
    await one.stop();
    files.writeReceipt(receipt("a", "executed", Date.now()));
    files.writeReceipt(receipt("b", "pardoned", Date.now()));
    const two = await beside("up", null);
    two.hear({ of: "warden", event: { kind: "up", pid: 1, pool: 5, state } });
    await until("it is told", () => texts().length === 1);
    files.writeReceipt(receipt("c", "executed", Date.now()));
    two.hear({ of: "warden", event: { kind: "verdict", verdict: "executed", dog: "c" } });
    two.hear({ of: "fleet", event: { kind: "parked", name: "x" } });
    await until("the next is told", () => texts().length === 2);
    await two.stop();
    expect(texts()).toEqual([
      "the warden ended agent-a: it was silent",
      "the warden ended agent-c: it was silent",
    ]);
  });
});
