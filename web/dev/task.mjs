// Of one made-up task: what show, why, neighbours, diff and logs would answer.

import { random } from "./fixtures.mjs";

export function show(card) {
  const { id, type, state, since, worker, column } = card;
  const done = column === "review" || column === "done";
  const end = done ? Date.parse(since) : Date.now();
  const ago = (ms) => new Date(end - ms).toISOString();
  const history = [
    {
      ...{
        attempt: 1,
        worker: "bob",
        token: "t1",
        outcome: "unproven",
        to: "pending",
        at: ago(9e6),
      },
      note: "exit 1: 1 of 41 tests failed\n✗ rounds half away from zero on negative lines\n    expected -10.01, received -10.00   src/refunds/round.test.ts:88",
      fingerprint: "f1",
    },
    {
      attempt: 2,
      worker: "ada",
      token: "t2",
      outcome: "rate_limited",
      to: "pending",
      at: ago(8e6),
      note: "account main is closed until 01:45",
    },
    {
      ...{ retried: true, by: "merge", at: ago(7e6) },
      note: "conflict with main in src/refunds/round.ts (rework 1 of 2)",
    },
    ...(done
      ? [
          {
            attempt: 3,
            worker,
            token: "t3",
            outcome: "done",
            to: column,
            at: since,
            proof: "passed",
            commit: "9c1f22ab",
          },
        ]
      : []),
  ];
  const ledger = [
    { at: ago(2e7), event: "enqueued", task: id, type, by: "desk" },
    { at: ago(9.6e6), event: "claimed", task: id, worker: "bob", attempt: 1 },
    {
      at: ago(9e6),
      event: "usage",
      task: id,
      worker: "bob",
      attempt: 1,
      engine: "claude",
      models: [
        {
          model: "haiku",
          input: 41_000,
          output: 2200,
          cache_read: 380_000,
          cache_write: 0,
          usd: 0.03,
          source: "reported",
        },
      ],
      usd: 0.03,
    },
    { at: ago(8.2e6), event: "claimed", task: id, worker: "ada", attempt: 2 },
    {
      at: ago(8e6),
      event: "usage",
      task: id,
      worker: "ada",
      attempt: 2,
      engine: "claude",
      models: [
        {
          model: "sonnet",
          input: 9000,
          output: 800,
          cache_read: 12_000,
          cache_write: 0,
          usd: 0.04,
          source: "reported",
        },
      ],
      usd: 0.04,
    },
    { at: ago(7e6), event: "reworked", task: id, by: "merge", why: "conflict" },
    { at: ago(5e6), event: "claimed", task: id, worker: worker ?? "ada", attempt: 3 },
    ...(done
      ? [
          {
            at: since,
            event: "usage",
            task: id,
            worker,
            attempt: 3,
            engine: "claude",
            models: [
              {
                model: "opus",
                input: 98_000,
                output: 9000,
                cache_read: 990_000,
                cache_write: 0,
                usd: 0.35,
                source: "reported",
              },
            ],
            usd: 0.35,
          },
        ]
      : []),
  ];
  return {
    ...{ id, type, state, since, ...(worker ? { worker, token: "t3" } : {}) },
    task: {
      ...{ id, type, task_id: id, task_type: type, created_at: ago(2e7), created_by: "desk" },
      ...{
        depends_on: ["audit.019", "port.090"],
        payload: { title: card.title, files: ["src/refunds/round.ts"] },
      },
      ...{
        priority: card.priority,
        done_when: "npm test -- refunds",
        max_attempts: 3,
        timeout: "60m",
      },
    },
    ...{ history, ledger },
    ...(done
      ? {
          proof: {
            ...{
              attempt: 3,
              command: "npm test -- refunds",
              exit: 0,
              signal: null,
              timed_out: false,
              duration_ms: 38_200,
            },
            ...{ at: since, dropped: 0 },
            output:
              "> vitest run refunds\n \u001b[32m✓\u001b[39m src/refunds/lines.test.ts \u001b[2m(18 tests)\u001b[22m 212 ms\n \u001b[32m✓\u001b[39m src/refunds/round.test.ts \u001b[2m(23 tests)\u001b[22m 340 ms\n\u001b[1mTests  41 passed (41)\u001b[22m\n",
          },
          landing: {
            ...{
              branch: `viv/${id}`,
              base: "1a2b3c",
              head: "9c1f22ab",
              repository: "/home/fleet/api",
              uncommitted: false,
            },
            ...{
              changed: { files: 5, insertions: 84, deletions: 31 },
              state: column === "done" ? (card.landing ?? null) : null,
              target: "main",
            },
            ...{ landed: null, reworks: 0, code: "not_landed", text: "done, not landed" },
          },
        }
      : {}),
  };
}

const WHY = {
  waiting: [["dependency_failed", "waits for audit.041, which failed", "viv retry audit.041"]],
  ready: [
    ["queued", "in the queue: 3 tasks are before it; ada, bob, cyd take its type", undefined],
  ],
  working: [
    ["running", "ada has been working on it for 12m, heartbeat 2s ago", undefined],
    ["choked", "attempt 1 was not proven: 1 of 41 tests failed", "viv show port.131"],
  ],
  review: [
    ["in_review", "a person must approve it; it has waited for 5h 11m", "viv approve fix.204"],
    ["not_landed", "done, not landed: merges cleanly into main", "viv merge fix.204"],
  ],
  done: [["landed", "landed in main as 4f1a2b3c9d", undefined]],
  failed: [
    ["failed", "failed: exit 1: 3 of 88 tests failed, after 3 attempts", "viv retry fix.304"],
  ],
};

export function why(card) {
  const { id, type, state, since, column } = card;
  const reasons = WHY[column].map(([code, text, command]) => ({
    code,
    text,
    ...(command ? { command } : {}),
  }));
  return { id, type, state, since, reasons };
}

export function neighbours(run) {
  const of = (card) => ({ id: card.id, type: card.type, column: card.column, title: card.title });
  return {
    needs: run.done.slice(3, 5).map(of),
    needed_by: run.waiting.slice(0, 3).map(of),
    ...{ parent: null, children: [], more: { needs: 0, needed_by: 2, children: 0 } },
  };
}

const FILES = [
  ["src/refunds/round.ts", 38, 19],
  ["src/refunds/round.test.ts", 31, 4],
  ["src/refunds/lines.ts", 9, 6],
  ["src/money/cents.ts", 4, 2],
  ["CHANGELOG.md", 2, 0],
];

export function diff(card, stat, file) {
  const files = FILES.filter(([path]) => file === undefined || path === file);
  const text = files.map(([path, plus, minus]) => patch(path, plus, minus)).join("");
  return {
    ...{
      id: card.id,
      type: card.type,
      state: card.state,
      branch: `viv/${card.id}`,
      base: "1a2b3c",
      head: "9c1f22ab",
    },
    ...{ seen: "branch", uncommitted: false, insertions: 84, deletions: 31 },
    files: files.map(([path, insertions, deletions]) => ({ path, insertions, deletions })),
    ...(stat ? { form: "stat", diff: null } : { form: "diff", diff: text }),
  };
}

function patch(path, plus, minus) {
  const lines = [
    `diff --git a/${path} b/${path}`,
    "index 3f1c..9a2b 100644",
    `--- a/${path}`,
    `+++ b/${path}`,
  ];
  lines.push(`@@ -10,${minus + 2} +10,${plus + 2} @@ export function roundHalf(amount) {`);
  lines.push("   const sign = Math.sign(amount);");
  for (let i = 0; i < minus; i++)
    lines.push(`-  const rounded${i} = Math.round(amount * ${i + 1}) / 100;`);
  for (let i = 0; i < plus; i++)
    lines.push(`+  const rounded${i} = sign * Math.round(Math.abs(amount) * ${i + 1}) / 100;`);
  lines.push("   return rounded;");
  return `${lines.join("\n")}\n`;
}

const STEPS = [
  "\u001b[36mRead\u001b[39m  src/billing/period.test.ts 212 lines",
  "\u001b[36mRead\u001b[39m  src/billing/period.ts 148 lines",
  "The half-open interval is lost when a month ends in a DST change.",
  "\u001b[36mEdit\u001b[39m  src/billing/period.ts \u001b[32m+22\u001b[39m \u001b[31m−18\u001b[39m",
  "\u001b[36mBash\u001b[39m  npm test -- billing",
  "    \u001b[32m✓\u001b[39m opens on the first of the month 4 ms",
  "    \u001b[31m✗\u001b[39m keeps 24 periods over DST on Lord Howe 9 ms",
  "  \u001b[33m1 failed\u001b[39m, \u001b[32m40 passed\u001b[39m in 3.1 s",
];

export const logLine = (n) => `${STEPS[Math.floor(random(n) * STEPS.length)]}\n`;
