import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { ended, Pit, RESULT } from "./support.ts";

/** Snakes that have only a shell, and ours, on one pit. */

const FOODS = 160;

/** ls, mv, cat and rm: what the pit's README teaches. */
const SHELL_SNAKE = `
me=$1
while [ ! -e "$H/stop" ]; do
  for file in $(ls food); do
    mv -n "food/$file" "claimed/$me.$file" 2>/dev/null || continue
    id=\${file%.md}
    echo "$id $me" >> "$H/eaten"
    echo "eaten by $me" > "scraps/$id"
    echo "$me was here" > "$H/$me.$id" && mv "$H/$me.$id" "done/$id.result.md"
    rm "claimed/$me.$file"
    echo "ate $id" >> "waste/$me-$(date +%s).log"
  done
done`;

test("shells with mv and workers race for one pit: each food is eaten once", async () => {
  const pit = await Pit.make();
  const lines = Array.from({ length: FOODS }, (_, n) => {
    const id = `food-${String(n + 1).padStart(4, "0")}-x`;
    // A third has to be proven.
    const proof = n % 3 === 0 ? { done_when: `test -s scraps/${id}` } : {};
    return JSON.stringify({ id, type: "food", payload: { task: `eat ${n}` }, ...proof });
  });
  const { status, stderr } = await pit.cli(["enqueue", "--jsonl", "-"], {
    stdin: lines.join("\n"),
  });
  expect([status, stderr]).toEqual([0, expect.anything()]);

  const snake = pit.script("shell-snake.sh", SHELL_SNAKE);
  const handler = pit.script(
    "handler.sh",
    'echo "$VIV_TASK_ID $VIV_WORKER_ID" >> "$H/eaten"; echo x > "scraps/$VIV_TASK_ID"; echo worked > "$VIV_RESULT"',
  );
  const workers = [
    pit.work(handler, "--worker-id", "alfa", "--concurrency", "2"),
    pit.work(handler, "--worker-id", "bravo"),
  ];
  await until("the workers have begun", () => pit.lines("eaten").length > 5);
  const shells = ["sh-1", "sh-2", "sh-3"].map((name) => pit.start([snake, name]));
  await until("all is eaten", () => pit.names("food").length + pit.names("claimed").length === 0);
  pit.script("stop", ""); // shells without food only keep the workers from their proofs
  const results = () => pit.names("done").filter((name) => RESULT.test(name)).length;
  const foods = () => pit.names("done").length - results();
  await until("all is in done/", () => foods() === FOODS && results() === FOODS);
  for (const worker of workers) worker.kill("SIGTERM");
  for (const one of [...workers, ...shells]) await ended(one);

  const eaten = pit.lines("eaten").map((line) => line.split(" "));
  expect(new Set(eaten.map(([id]) => id)).size).toBe(FOODS);
  expect(eaten).toHaveLength(FOODS);
  // Both kinds had something, or nothing was shown.
  const by = (prefix: RegExp) => eaten.filter(([, snake = ""]) => prefix.test(snake)).length;
  expect(Math.min(by(/^sh-/), by(/^(alfa|bravo)/))).toBeGreaterThan(0);
  expect(await pit.findings()).toEqual([]);
  expect(pit.names("record/quarantine")).toEqual([]);
});
