import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isVivError, openRun, type Task } from "../main.ts";

/**
 * One worker of `viv demo`: counts the words of its share of a text, or adds up what the others
 * counted. A real worker process on the real queue; only the work is small.
 */
const [run = "", name = "", paceMs = "0"] = process.argv.slice(2);

void main();

async function main(): Promise<void> {
  const store = await openRun(run);
  const registration = await store.register(name, { heartbeatMs: 1_000 });
  const stop = new AbortController();
  process.once("SIGTERM", () => stop.abort());
  process.stdin.once("end", () => stop.abort());
  process.stdin.resume();

  while (!stop.signal.aborted) {
    const [claim] = await store.claim({ worker: name });
    if (!claim) {
      await store.waitForWork({ timeoutMs: 2_000, signal: stop.signal });
      continue;
    }
    const id = claim.task.task_id;
    registration.note(id);
    appendFileSync(
      artifact(`${id}.log`),
      `${new Date().toISOString()} ${name} begins, attempt ${claim.attempt}\n`,
    );
    // The pause stands for the minutes an agent would take.
    await pause(Number(paceMs) * (0.5 + Math.random()));
    writeFileSync(artifact(`${id}.md`), work(claim.task));
    try {
      await store.complete({ id, worker: name, token: claim.token });
    } catch (error) {
      // The task was reaped and given to another worker: our result does not count.
      if (!isVivError(error, "CLAIM_LOST")) throw error;
    }
  }
  await registration.release();
  await store.close();
  process.stdin.destroy();
}

function artifact(file: string): string {
  return join(run, "artifacts", file);
}

function work(task: Task): string {
  if (task.task_type === "count") {
    return `${String(task.payload.text).split(/\s+/).filter(Boolean).length}\n`;
  }
  const parts = task.depends_on.map((id) => Number(readFileSync(artifact(`${id}.md`), "utf8")));
  return `# Word count\n\n${parts.reduce((a, b) => a + b, 0)} words in ${parts.length} parts: ${parts.join(" + ")}\n`;
}
