import { watch } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../support/deadline.ts";
import { chooseSeed, seeded } from "../support/random.ts";
import { textIn } from "../support/tmux.ts";
import { DANCES_MS, Scene } from "./support.ts";

/** kill -9 of the warden, anywhere in a dance: nothing is lost, nothing is done twice. */

/** Hangs, and writes down all that is typed to it. */
const LISTENS = (log: string) => `exec cat >'${log}'`;

async function dance(moments: readonly ((scene: Scene) => Promise<void>)[]): Promise<void> {
  const scene = new Scene();
  const log = `${scene.folder}/typed`;
  scene.suspect("hung", LISTENS(log));
  await scene.file("hung");
  for (const moment of moments) await moment(scene);
  scene.up("--timeouts", "1s,1s,1s");
  expect(await scene.verdicts("hung")).toEqual(["executed"]);
  const questions = textIn(log).trim().split("\n");
  const nonces = scene.receipt("hung")?.attempts.map(({ nonce }) => nonce) ?? [];
  expect(nonces).toHaveLength(3);
  expect(questions.map((line) => /Nonce (\w+) /.exec(line)?.[1])).toEqual(nonces);
  expect(scene.tmux.has("hung")).toBe(false);
  expect(scene.files.receipts()).toHaveLength(1);
  expect(scene.files.queued().warrants).toEqual([]);
}

/** Until the warden says so, and not one instant longer. */
const killedAt = (kind: string, attempt?: number) => async (scene: Scene) => {
  const warden = scene.up("--timeouts", "1s,1s,1s");
  await warden.says(kind, (event) => {
    const isMeant = attempt === undefined || ("attempt" in event && event.attempt === attempt);
    return event.kind === kind && isMeant;
  });
  await warden.kill();
};

it("when it has taken a warrant", { timeout: DANCES_MS }, () => dance([killedAt("begins")]));
it("after the first and the second question", { timeout: DANCES_MS }, () =>
  dance([killedAt("asked", 1), killedAt("asked", 2)]),
);
it("when it begins to kill", { timeout: DANCES_MS }, () => dance([killedAt("executes")]));
it("at any write", { timeout: DANCES_MS }, async () => {
  const random = seeded(chooseSeed("a warden killed at any write"));
  const killedAtWrite = async (scene: Scene) => {
    const writes = 1 + Math.floor(random() * 6);
    const seen = writesIn(join(scene.state, "active"));
    const warden = scene.up("--timeouts", "1s,1s,1s");
    await until(`${writes} writes, or the end`, () => {
      return seen() >= writes || scene.receipt("hung") !== undefined;
    });
    await warden.kill();
  };
  await dance(Array.from({ length: 5 }, () => killedAtWrite));
});

/** How often a state was replaced there so far. */
function writesIn(folder: string): () => number {
  let writes = 0;
  const watcher = watch(folder, (_, name) => {
    if (name !== null && /^dog-\d+\.json$/.test(name)) writes++;
  });
  onTestFinished(() => watcher.close());
  return () => writes;
}
