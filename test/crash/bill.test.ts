import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import type { LedgerLine } from "../../src/queue/ledger.ts";
import { json, Running } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";

/** kill -9 of a worker: what its engine has used is on the bill, once. */

let home: string;

beforeEach(() => {
  home = newFolder();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const THREAD = "019e9154-c304-70f0-adde-36efb1be1701";
const around = () => ({ cwd: home, env: { HOME: home, VIV_STATE: join(home, "state") } });
const ledger = () =>
  readdirSync(join(home, "run/ledger")).flatMap((name) =>
    readFileSync(join(home, "run/ledger", name), "utf8")
      .split("\n")
      .filter(Boolean)
      .map((text) => JSON.parse(text) as LedgerLine),
  );

const answer = (output: number) =>
  JSON.stringify({
    timestamp: "2026-11-15T10:00:00Z",
    type: "token_usage_record",
    payload: { usage: { input_tokens: 0, output_tokens: output } },
  });

/** Like codex: its stream tells nothing before the end of the turn, its session file each answer. */
const CODEX = `#!/bin/sh
cat > /dev/null
folder=$HOME/.codex/sessions/2026/11/15
mkdir -p $folder
file=$folder/rollout-2026-11-15T10-00-00-${THREAD}.jsonl
echo '{"type":"thread.started","thread_id":"${THREAD}"}'
echo '{"type":"turn.started"}'
case "$*" in
*resume*)
  echo '${answer(5)}' >> $file
  echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"ok"}}'
  echo '{"type":"turn.completed","usage":{"input_tokens":0,"output_tokens":35}}' ;;
*)
  echo '{"type":"turn_context","payload":{"model":"gpt-6-codex"}}' >> $file
  echo '${answer(10)}' >> $file
  sleep 60 ;;
esac
`;

test("what codex wrote until it was ended is counted when the claim is taken back", async () => {
  writeFileSync(join(home, "codex.sh"), CODEX, { mode: 0o755 });
  writeFileSync(join(home, "prompt.md"), "Do it.\n");
  writeFileSync(
    join(home, "viv.toml"),
    'run = "run"\n[prices."gpt-6-codex"]\ninput = 1000000\noutput = 1000000\n[handlers.t]\nengine = "codex"\nbinary = "./codex.sh"\nprompt = "prompt.md"\n[budget]\nrun = { usd = 100 }\n',
  );
  const store = await openRun(join(home, "run"), { create: true });
  await store.enqueue({ id: "a", type: "t" });
  await store.close();

  const first = new Running(["work", "--worker-id", "w1"], around());
  const isStep = ({ event, usd }: LedgerLine) => event === "step" && usd === 10;
  await until("the first answer is in the ledger", () => ledger().some(isStep));
  first.child.kill("SIGKILL");
  await first.end();
  // Its last answers: nobody reads them any more.
  const file = `rollout-2026-11-15T10-00-00-${THREAD}.jsonl`;
  const rollout = join(home, ".codex/sessions/2026/11/15", file);
  appendFileSync(rollout, `${answer(12)}\n${answer(8)}\n`);

  const second = new Running(["work", "--worker-id", "w2", "--drain"], around());
  const { status, stdout, stderr } = await second.end();
  expect(status, stdout + stderr).toBe(0);
  const tokens = new Set(
    ledger().flatMap(({ event, token }) => (event === "claimed" ? [token] : [])),
  );
  expect(tokens.size, stdout + stderr + JSON.stringify(ledger())).toBe(2);
  const bills = ledger().filter(({ event }) => event === "usage");
  const [dead] = tokens;
  expect(bills.find(({ token }) => token === dead)).toMatchObject({ usd: 30, worker: "w1" });
  const { total } = await json<{ total: { usd: number; attempts: number } }>(["costs"], around());
  expect(total).toMatchObject({ usd: 35, attempts: 2 });
  expect(await json(["costs"], around())).toMatchObject({ reserved: { attempts: 0 } });
});
