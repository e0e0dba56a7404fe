// Made-up answers for fleet, warden, graph, money and the git board: what the operations would say.

import { random, timeline } from "./fixtures.mjs";

const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
const soon = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();
const ends = (text) =>
  [...text].map((c) => ({ d: "done", n: "no_work", f: "failed", u: "unproven", c: "crashed" })[c]);

function worker(name, engine, doing, more = {}) {
  const [task, title, step, thought, since] = doing ?? [];
  const base = { process: "alive", alive: true, types: null, account: null, note: "", quiet: 2 };
  return {
    ...{ name, engine, ...base, heartbeat_age: 2, recent: ends("dddddddudddd"), done: 61 },
    ...{ usd_today: 15.92, doing: null, paused: null, held: null },
    ...(doing && {
      doing: { task, title, attempt: 2, since: ago(since), step, thought, more: 0 },
    }),
    ...more,
  };
}

function member(name, engine, state, note, thought, more = {}) {
  return {
    ...{
      name,
      engine,
      state,
      note,
      thought,
      since: ago(131),
      outcome: "done",
      streak: 0,
      saved: 0,
    },
    ...{ last_run: ago(480), next_tick: soon(420), lifecycle: null, cost_today: 0.51, asked: null },
    ...{ recent: ends("ddnddddnddnd"), ...more },
  };
}

const fleet = () => ({
  workers: [
    worker("ada", "claude · opus", [
      ...["port.131", "Move billing/period off the old date library", "Edit src/billing/period.ts"],
      ...["The half-open interval is lost when a month ends in a DST change.", 732],
    ]),
    worker(
      "bob",
      "claude · sonnet",
      [
        ...["fix.219", "Session cookie survives logout on Safari", "Bash npm test -- auth"],
        ...["Safari keeps the cookie because the path differs by a slash.", 220],
      ],
      { done: 72, usd_today: 11.37, recent: ends("dudddddudddd") },
    ),
    worker(
      "cyd",
      "claude · haiku",
      [
        ...["audit.052", "Audit webhooks/retry for raw input", "Read src/webhooks/retry.ts"],
        ...["Looking for bodies that reach the query unparsed.", 64],
      ],
      { done: 84, usd_today: 4.37, recent: ends("dddddudddduu") },
    ),
    worker(
      "fin",
      "llm · qwen3",
      ["test.118", "Cover ledger/fx with properties", null, "dog-4 asks it, question 1 of 3", 2880],
      { done: 19, usd_today: 0, quiet: 371, heartbeat_age: 371 },
    ),
    worker("eva", "gemini · pro", null, {
      ...{ held: "account gemini is closed until 08:15", done: 28, usd_today: 2.93 },
      recent: ends("dddudddddddu"),
    }),
    worker("dov", "codex · gpt-5", null, {
      ...{ alive: false, process: "gone", note: "", done: 23, usd_today: 5.32, heartbeat_age: 900 },
      recent: ends("uddduuddddud"),
    }),
  ],
  crew: {
    state: "/home/fleet/.crew",
    supervisor: { running: true, pid: 4711, manifest: "/home/fleet/crew.org", port: 4848 },
    tick: null,
    members: [
      member(
        ...["newt", "claude · sonnet", "running", "Edit drafts/release-notes.md"],
        ...["Forty fixes landed; grouping them by what readers notice.", { lifecycle: "wake 2/3" }],
      ),
      member(
        ...["moss", "claude · haiku", "queued", "waits for a slot, first in line"],
        ...["Next on the board: vendor-limits", { lifecycle: "wake 1/3", next_tick: ago(2) }],
      ),
      member("desk", "exec", "queued", "waits for a slot", "Three new issues came.", {
        ...{ cost_today: 0, recent: ends("nnnddnnndddd"), next_tick: ago(1) },
      }),
      member(
        ...["toad", "claude · haiku", "waiting", "RUN-IF saved 14 ticks"],
        ...["Pruned 41 logs from waste/, kept the sums.", { saved: 14, lifecycle: "rem" }],
      ),
      member(
        ...["wren", "claude · sonnet", "parked", "crashed five times: ./edit.sh: no such file"],
        ...["", { recent: ends("dddddddccccc"), next_tick: null, outcome: "crashed" }],
      ),
    ],
  },
});

const gateOf = () => ({
  machine: {
    max: 5,
    holders: [
      ["ada", 732],
      ["bob", 220],
      ["cyd", 64],
      ["fin", 2880],
      ["newt", 131],
    ].map(([name, s]) => ({ name, since: ago(s) })),
    queue: [
      ["moss", 130, "normal"],
      ["desk", 48, "low"],
    ].map(([name, s, priority]) => ({ name, since: ago(s), priority, waiting_ms: s * 1000 })),
  },
});

const partsOf = () => ({
  ...{ run_dir: "/home/fleet/nightly", running: true, state: "working", pid: 4700, host: "here" },
  ...{ since: ago(35_000), config: "viv.toml", note: "", address: "http://127.0.0.1:4747" },
  log: null,
  parts: [
    ["worker-1", "worker", "working", 0],
    ["worker-2", "worker", "working", 2],
    ["merge", "merge", "idle", 0],
    ["warden", "warden", "working", 0],
    ["crew", "crew", "working", 0],
    ["server", "server", "working", 0],
  ].map(([name, kind, state, restarts], at) => ({
    ...{
      name,
      kind,
      state,
      restarts,
      pid: 4701 + at,
      since: ago(35_000 - at),
      doing: "",
      note: "",
    },
  })),
});

const schedulesOf = () => ({
  running: true,
  schedules: [
    ["morning", "0 7 * * *", "report", "on", soon(50_000)],
    ["prune", "*/30 * * * *", "chains/prune.jsonl", "paused", null],
  ].map(([name, cron, tasks, state, next]) => ({
    ...{ name, cron, timezone: "UTC", tasks, state, missed: "once", overlap: false, note: "" },
    ...{ next: next ? [next] : [], last: { fire: ago(36_000), tasks: 3 }, paused_by: null },
  })),
});

function dance(dog, target, kind, attempt, left, warrant, reason, requester) {
  return {
    ...{ dog, warrant, target, kind, state: "interrogating", attempt, attempts: 3, held: null },
    ...{ started_at: ago(200), next_timeout: soon(left), seconds_left: left, reason, requester },
  };
}

const pool = () => ({
  ...{
    up: true,
    pid: 4704,
    since: ago(35_000),
    pool: 5,
    paused: null,
    state: "/home/fleet/warden",
  },
  ...{ timeouts_ms: [60_000, 120_000, 240_000], active: 2, idle: 3, waiting: 2 },
  dogs: [
    dance("dog-2", "agent-3", "tmux", 2, 74, "w-mwi4ypz9-ffc1", "no_progress", "deacon"),
    dance(
      ...["dog-4", "fin", "worker", 1, 41, "w-mwi50c2k-03da", "stale_heartbeat"],
      "warden:stale_heartbeat",
    ),
  ],
});

const E = "\u001b";
const screens = {
  "w-mwi4ypz9-ffc1": {
    source: "screen",
    lines: [
      `● Bash(${E}[1mnpm run build -- --watch${E}[0m)`,
      `  └  ${E}[32m✓${E}[0m built in 4.1s`,
      `     ${E}[2mwaiting for changes…${E}[0m`,
      "",
      `${E}[33m✻${E}[0m Simmering… ${E}[2m(31m 12s · esc to interrupt)${E}[0m`,
      "",
      "╭────────────────────────────────────────────────────────────╮",
      "│ [DOG] HEALTH CHECK: Session agent-3, respond ALIVE within  │",
      "│ 120s or face termination.                                  │",
      "│ Warrant reason: no_progress                                │",
      "│ Filed by: deacon                                           │",
      "│ Attempt: 2/3                                               │",
      "│ Nonce: 7f3a9c (say the word, a space and this nonce)       │",
      "╰────────────────────────────────────────────────────────────╯",
    ],
  },
  "w-mwi50c2k-03da": {
    ...{ source: "log", path: "/home/fleet/nightly/artifacts/test.118.log" },
    lines: [
      `07:35:58 ${E}[36mshell${E}[0m ${E}[1mnode --test test/ledger/fx.prop.ts${E}[0m`,
      `07:36:02   ok 1 - ${E}[32mrates compose${E}[0m`,
      `07:36:02   ok 2 - ${E}[32ma round trip loses at most half a cent${E}[0m`,
      `07:36:07   ${E}[33m# shrinking, 4,096 cases left${E}[0m`,
      "07:41:37 [DOG] HEALTH CHECK: fin, respond ALIVE within 60s",
      "07:41:37 Nonce: b81e02",
    ],
  },
};

const screen = ({ id }) => ({
  ...{ id, target: "", path: null, why: null, at: ago(0), source: "none", lines: [] },
  ...screens[id],
});

const warrants = () => ({
  warrants: [
    ["agent-9", "repeated_tool: Grep ×7", 38],
    ["agent-5", "no_output for 11m", 12],
  ].map(([target, reason, s], at) => ({
    ...{ id: `w-queued-${at}`, target, kind: "tmux", reason, requester: "warden" },
    ...{ filed_at: ago(s), waiting_ms: s * 1000 },
  })),
  bad: [],
});

const RECEIPTS = [
  ["agent-6", "executed", "silent at 60, 120 and 240s", 3, 429, 4, "port.122", 480],
  ["agent-7", "failed", "not_asked: a password prompt", 0, 5, 0, "", 2200],
  ["dov", "pardoned", "answered ALIVE 41c07e", 1, 14, 0, "", 6800],
  ["agent-2", "pardoned", "progress: 212 new lines", 2, 91, 0, "", 12_100],
  ["agent-4", "already_dead", "its session ended by itself", 1, 22, 0, "", 16_800],
  ["fin", "executed", "silent at 60, 120 and 240s", 3, 424, 6, "test.071", 19_900],
];

const receipts = () => ({
  ...{ more: 0, state: "/home/fleet/warden" },
  verdicts: { pardoned: 2, executed: 2, already_dead: 1, failed: 1 },
  receipts: RECEIPTS.map(([target, verdict, why, asked, seconds, processes, task, since], at) => ({
    ...{
      warrant: `w-mwi${at}l0aa-7c1e`,
      dog: `dog-${at}`,
      target,
      kind: "tmux",
      verdict,
      why,
      asked,
    },
    ...{ reason: "no_progress", requester: "deacon", started_at: ago(since + seconds) },
    ...{ ended_at: ago(since), duration_ms: seconds * 1000, survivors: [] },
    exit: Array.from({ length: processes }, (_, n) => ({
      ...{ pid: 4800 + n, command: n === 0 ? "claude" : "node --test", gone_at: ago(since) },
      signal: n === 0 ? "SIGTERM" : "SIGKILL",
    })),
    reaped: task === "" ? [] : [task],
  })),
});

const SCREEN = [
  "\u001b[1m● Update(src/refunds/round.ts)\u001b[22m",
  "  ⎿  Updated with 4 additions and 2 removals",
  "",
  "✳ Reticulating… (esc to interrupt)",
  "> Warden health check Nonce: kfrm24 (saying ALIVE kfrm24 on a line by itself is enough)",
];

/** The whole receipt, as the warden keeps it. */
function epitaph({ id }) {
  const found = receipts().receipts.find(({ warrant }) => warrant === id);
  if (found === undefined) return null;
  const { warrant, target, kind, reason, requester, asked, started_at, ...rest } = found;
  const began = Date.parse(started_at);
  const attempts = [60, 120, 240].slice(0, asked).map((seconds, at, all) => {
    const asked_at = new Date(began + (2 ** at - 1) * 60_000).toISOString();
    const isLast = at === all.length - 1;
    const isAlive = isLast && rest.verdict === "pardoned";
    return {
      ...{ number: at + 1, nonce: "kfrm24", timeout_ms: seconds * 1000, asked_at },
      ...{ channel: "pane %3", arrived: true, submitted: true, bursts: [] },
      ...{ ended: isAlive ? "answered" : "silent", ...(isAlive ? { reply: "ALIVE kfrm24" } : {}) },
      ended_at: isLast
        ? rest.ended_at
        : new Date(Date.parse(asked_at) + seconds * 1000).toISOString(),
    };
  });
  const about = { id: warrant, target, kind, reason, requester, filed_at: started_at };
  const screens = asked === 0 ? [] : SCREEN;
  return {
    text: "",
    receipt: {
      ...{ ...rest, started_at, warrant: about, attempts, tree: [], evidence: [], told: [] },
      ...{ screen_before: screens.slice(0, 4), screen_after: screens },
    },
  };
}

const status = () => ({
  ...pool(),
  ...{ held: [], verdicts: [] },
  findings: [
    { rule: "no_output", target: "agent-1", since: ago(640), evidence: "no output for 10m" },
    { rule: "over_budget", target: "port.126", since: ago(90), evidence: "$2.04 of $2.00" },
  ],
});

const LAYERS = [1, 6, 13, 15, 12, 8, 4, 1];
const KINDS = ["plan", "audit", "port", "fix", "test", "docs", "tidy", "total"];

/** `size`: about so many tasks, in layers. */
export function graphOf(size = 60) {
  const grow = Math.max(1, size / 60);
  const nodes = [];
  const edges = [];
  let before = [];
  LAYERS.forEach((n, layer) => {
    const now = [];
    const many = n === 1 ? 1 : Math.round(n * grow);
    for (let at = 0; at < many; at++) {
      const id = `${KINDS[layer]}.${String(layer * 31 + at).padStart(3, "0")}`;
      const luck = random(layer * 77 + at * 5);
      const column =
        layer < 3
          ? luck > 0.95
            ? "failed"
            : "done"
          : layer === 3
            ? ["done", "done", "working", "review", "failed"][Math.floor(luck * 5)]
            : layer === 4
              ? ["ready", "waiting"][Math.floor(luck * 2)]
              : "waiting";
      const node = { id, type: KINDS[layer], column, title: `${KINDS[layer]} of part ${at}` };
      nodes.push({ ...node, landing: column === "done" ? "landed" : null });
      now.push(id);
      if (before.length === 0) continue;
      const near = Math.floor(((at + 0.5) / many) * before.length);
      const needs = new Set([before[near]]);
      if (luck > 0.55) needs.add(before[Math.min(before.length - 1, near + 1)]);
      if (layer === 7) for (const one of before) needs.add(one);
      for (const one of needs) edges.push([one, id]);
    }
    before = now;
  });
  return { nodes, edges, more: 0 };
}

const MODELS = [
  ["opus", 21.46, 1_204_000, 288_000, 9_100_000, 74, 61],
  ["sonnet", 10.02, 1_377_000, 241_000, 7_400_000, 92, 80],
  ["gpt-5", 5.32, 802_000, 119_000, 2_200_000, 31, 23],
  ["gemini", 2.93, 944_000, 97_000, 1_000_000, 34, 28],
  ["haiku", 2.13, 1_018_000, 140_000, 3_900_000, 108, 70],
  ["qwen3", 0, 2_260_000, 301_000, 0, 27, 19],
];

function spending([, usd, input, output, cache, attempts, proven]) {
  const landed = Math.round(proven * 0.9);
  return {
    ...{ usd, reported: usd * 0.87, imputed: usd * 0.13, attempts, proven, landed },
    unpriced_tokens: usd === 0 ? input + output : 0,
    tokens: { input, output, cache_read: cache, cache_write: 0 },
    usd_per_proven: proven === 0 ? null : usd / proven,
    usd_per_landed: landed === 0 ? null : usd / landed,
  };
}

const total = (rows) =>
  rows.reduce(
    (sum, row) => sum.map((n, at) => (at === 0 ? "" : n + row[at])),
    [...["", 0, 0, 0, 0, 0, 0]],
  );

function money() {
  const rows = (list) => list.map((row) => ({ key: row[0], ...spending(row) }));
  const shares = [0.3, 0.34, 0.62, 0.7, 0.66, 0.86, 0.9, 0.42, 0.38, 0.84, 1.12, 0.95, 1.31, 1];
  const days = shares.map((share, at) => {
    const models = MODELS.filter(([, usd]) => usd > 0).map(([model, usd], n) => ({
      model,
      usd: usd * share * (0.8 + random(at * 9 + n) * 0.35),
    }));
    const usd = models.reduce((sum, one) => sum + one.usd, 0);
    const key = new Date(Date.now() - (13 - at) * 86_400_000).toISOString().slice(0, 10);
    return { key, ...spending(total(MODELS)), usd, models };
  });
  const agents = ["ada", "bob", "dov", "cyd", "eva", "newt", "moss", "fin"];
  const costs = [15.92, 11.37, 5.32, 4.37, 2.93, 0.94, 0.51, 0];
  const workers = agents.map((name, at) => [name, costs[at], 4e5, 9e4, 2e6, 40, at > 4 ? 0 : 60]);
  const types = ["port", "fix", "test", "audit", "docs", "tidy"];
  return {
    ...{ since: ago(14 * 86_400), until: ago(0), total: spending(total(MODELS)), days },
    by: {
      ...{ model: rows(MODELS), worker: rows(workers), agent: [] },
      type: rows(types.map((type, at) => [type, ...MODELS[at].slice(1)])),
    },
    budgets: [
      { of: "day", unit: "usd", limit: 60, spent: 41.86 },
      { of: "run", unit: "usd", limit: 220, spent: 188.4 },
    ],
    ...{ reserved_usd: 1.2, unreadable: 0 },
  };
}

const BOARD = [
  ["OPEN", "vendor-limits", "Write down every vendor's rate limits", null],
  ["OPEN", "night-report", "A one-page report of the night", null],
  ["CLAIMED", "release-notes", "Release notes for the week, grouped by reader", "newt"],
  ["WRITE", "pit-guide", "A guide to the pit for newcomers", "moss"],
  ["REVIEW", "gate-figures", "Figures of the gate at five and at ten slots", "wren"],
  ["DONE", "board-howto", "How agents share one board in git", "moss"],
  ["DONE", "first-issue", "Answer the first issue", "desk"],
];

const board = () => ({
  ...{ board: "/home/fleet/board.org", states: ["OPEN", "CLAIMED", "WRITE", "REVIEW", "DONE"] },
  final: ["DONE"],
  tasks: BOARD.map(([state, slug, title, agent], at) => ({
    ...{ id: slug, slug, state, title, agent, line: 4 + at },
  })),
});

const EVENTS = [
  { event: "step", tool: "Edit", target: "src/billing/period.ts", usd: 0.012 },
  { event: "step", tool: "Bash", target: "npm test -- auth", usd: 0.004 },
  { event: "claimed", from: "pending", to: "claimed", attempt: 1 },
  { event: "ended", from: "claimed", to: "done", outcome: "done", proof: "passed" },
  { event: "step", text: "The cache key ignores the time zone, so both look alike." },
  { event: "landed", target: "main", commit: "3f4f6f2a91" },
  { event: "promoted", from: "waiting", to: "pending" },
  {
    ...{ event: "ended", from: "claimed", to: "waiting", outcome: "unproven" },
    note: "exit 1: 3 of 88 tests failed",
  },
  { event: "enqueued", type: "fix", to: "pending" },
  { event: "ended", from: "claimed", to: "failed", outcome: "timed_out", note: "after 30m" },
  { event: "held", note: "account gemini closed until 08:15" },
];

export function ledgerLine(n, at) {
  const one = EVENTS[Math.floor(random(n * 11) * EVENTS.length)];
  const worker = ["ada", "bob", "cyd", "dov"][n % 4];
  const type = ["fix", "port", "test", "audit"][n % 4];
  const task = `${type}.${100 + Math.floor(random(n) * 130)}`;
  return { at, room: "queue", task, type, worker, agent: worker, ...one };
}

const ledger = ({ until, limit = 200 }) => {
  const end = Date.parse(until ?? "") || Date.now();
  const lines = Array.from({ length: Number(limit) }, (_, n) =>
    ledgerLine(n, new Date(end - (n + 1) * 2_700).toISOString()),
  );
  const isBefore = end < Date.now() - 2 * 3.6e6;
  return { lines: isBefore ? [] : lines.reverse(), more: isBefore ? 0 : 1000, notes: [] };
};

/** With what the timeline's own view shows besides. */
const wholeTimeline = ({ since }) => {
  const hours = { "24h": 24, "7d": 168 }[since] ?? 12;
  const from = Number.isNaN(Date.parse(since)) ? ago(hours * 3600) : since;
  const answer = timeline(from);
  const lanes = answer.lanes.map((lane) => ({
    ...lane,
    spans: lane.spans.map((span) => ({ ...span, count: 1 })),
  }));
  const kills = answer.kills.map((one) => ({ ...one, why: "silent three times" }));
  return { ...answer, lanes, kills };
};

export const dataOperations = {
  timeline: wholeTimeline,
  fleet: () => ({ ...fleet(), gate: gateOf(), parts: partsOf(), schedules: schedulesOf() }),
  "dog pool status": pool,
  "dog warrants": warrants,
  "warden status": status,
  "warden receipts": receipts,
  epitaph,
  "warrant screen": screen,
  graph: ({ limit }) => graphOf(Number(limit ?? 60)),
  money,
  "board ls": board,
  "ledger show": ledger,
};
