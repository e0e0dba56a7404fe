// A made-up run for working on the page without a server: what the operations of docs/spec/page.md
// would answer. `makeRun(n)` has n tasks; the same seed gives the same run.

const COLUMNS = ["waiting", "ready", "working", "review", "done", "failed"];
const STATE = { ready: "pending", working: "claimed" };
const AREAS =
  "billing/period invoices/table auth/session auth/oauth export/csv export/pdf search/index search/rank mail/queue mail/templates upload/chunks webhooks/retry quota/window ledger/close ledger/fx refunds/lines tax/vat cart/merge catalog/facets i18n/plural admin/log jobs/cron rates/cache feature/flags".split(
    " ",
  );
const TITLES = {
  port: ["Port # to the new clock", "Move # off the old date library", "Port # to streams"],
  fix: ["Fix flaky # under UTC+13", "Fix a leak in # on retry", "Fix rounding in #"],
  test: ["Cover # with properties", "Raise branch cover of #"],
  docs: ["Document errors of #", "Examples for #"],
  audit: ["Audit # for raw input", "Audit queries in #"],
  tidy: ["Drop dead exports in #", "Split # under 400 lines"],
};
const TYPES = Object.keys(TITLES);
const WORKERS = ["ada", "bob", "cyd", "dov", "eva", "fin"];

/** From 0 to 1, the same for the same number. */
export function random(n) {
  let x = Math.imul(n + 0x9e37, 0x85ebca6b);
  x ^= x >>> 13;
  x = Math.imul(x, 0xc2b2ae35);
  x ^= x >>> 16;
  return (x >>> 0) / 2 ** 32;
}

const pick = (list, n) => list[Math.floor(random(n) * list.length)];

const SHARES = {
  waiting: 0.14,
  ready: 0.105,
  working: 0.01,
  review: 0.017,
  done: 0.7,
  failed: 0.028,
};

const FACTS = {
  waiting: (n) =>
    pick(
      [
        "waits for audit.041, which failed",
        "waits for fix.204, in review",
        "waits for 3 tasks",
        "not before 09:00",
      ],
      n,
    ),
  ready: (n) =>
    pick(["ada, bob, cyd will take it", "account codex-team is parked", "2nd in the queue"], n),
  working: (n) =>
    `${pick(["Edit", "Read", "Bash npm test --", "Grep"], n)} src/${pick(AREAS, n + 1)}.ts`,
  review: (n) =>
    `+${Math.round(random(n) * 300)} −${Math.round(random(n + 1) * 120)} in ${2 + Math.floor(random(n + 2) * 6)} files`,
  done: () => null,
  failed: (n) =>
    pick(
      [
        "exit 1: 3 of 88 tests failed",
        "timed out after 30m",
        "choked: no space in vitest cache",
        "used up its $2.00",
      ],
      n,
    ),
};

/** Seconds in its column, in the board's order: ended ones the newest first, the others the oldest. */
const AGES = {
  waiting: (i, size) => 2400 + (size - i) * 290,
  ready: (i, size) => 140 + (size - i) * 173,
  working: (i, size) => 40 + (size - i) * 171,
  review: (i, size) => 420 + (size - i) * 2600,
  done: (i) => 96 + i * 118,
  failed: (i) => 560 + i * 2900,
};

export function makeRun(n, now = Date.now()) {
  const all = Object.fromEntries(COLUMNS.map((column) => [column, []]));
  if (n === 0) return all;
  let at = 0;
  for (const column of COLUMNS) {
    const size = Math.max(column === "working" ? 4 : 6, Math.round(n * SHARES[column]));
    for (let i = 0; i < size; i++, at++) {
      const seed = at * 17;
      const type = pick(TYPES, seed);
      const title = pick(TITLES[type], seed + 1).replace("#", pick(AREAS, seed + 2));
      const fact = FACTS[column](seed + 3);
      const isWorked = column !== "waiting" && column !== "ready";
      all[column].push({
        id: `${type}.${String(at + 100).padStart(3, "0")}`,
        type,
        column,
        state: STATE[column] ?? column,
        since: new Date(now - AGES[column](i, size) * 1000).toISOString(),
        title,
        fact,
        worker: isWorked ? pick(WORKERS, seed + 4) : null,
        attempt: isWorked ? (random(seed + 5) > 0.8 ? 2 : 1) : null,
        max_attempts: 3,
        proof:
          column === "done" || column === "review"
            ? random(seed + 6) > 0.04
              ? "passed"
              : null
            : null,
        landing:
          column === "done"
            ? i < 12
              ? "queued"
              : random(seed + 7) > 0.98
                ? "conflict"
                : "landed"
            : null,
        usd: isWorked ? Math.round((0.02 + random(seed + 8) ** 3 * 0.9) * 100) / 100 : null,
        priority: random(seed + 9) > 0.95 ? "high" : "normal",
        cancelled: column === "failed" && random(seed + 10) > 0.9,
      });
    }
  }
  Object.assign(all.review[0], {
    ...{ id: "fix.204", type: "fix", title: "Refund rounding loses a cent on negative lines" },
    ...{ fact: "+84 −31 in 5 files", attempt: 3, worker: "ada", usd: 0.42, proof: "passed" },
  });
  Object.assign(all.working[0], {
    ...{ id: "port.131", type: "port", title: "Move billing/period off the old date library" },
    ...{ fact: "Edit src/billing/period.ts", attempt: 2, worker: "ada", usd: 0.21 },
    since: new Date(now - 12 * 60e3).toISOString(),
  });
  return all;
}

/** The filter's words, as docs/spec/page.md has them; enough for the page's work. */
export function matches(card, filter) {
  return filter
    .split(/\s+/)
    .filter(Boolean)
    .every((word) => {
      const isNot = word.startsWith("-");
      const bare = isNot ? word.slice(1) : word;
      const [, key, values] = /^(type|worker|is|priority|id):(.+)$/.exec(bare) ?? [];
      const has = key
        ? values.split(",").some((value) => fits(card, key, value))
        : `${card.id} ${card.title}`.toLowerCase().includes(bare.toLowerCase());
      return has !== isNot;
    });
}

function fits(card, key, value) {
  if (key === "id") return card.id.startsWith(value);
  if (key !== "is") return card[key] === value;
  if (value === "proven") return card.proof === "passed";
  if (value === "unproven") return card.proof !== "passed";
  if (value === "choked") return card.fact?.startsWith("choked") === true;
  if (value === "cancelled") return card.cancelled;
  return card.landing === value;
}

const ago = (ms) => new Date(Date.now() - ms).toISOString();
const HOUR = 3_600_000;

export function report(run, since) {
  const counts = {
    waiting: 0,
    pending: 0,
    claimed: 0,
    review: 0,
    done: 0,
    failed: 0,
    cancelled: 0,
    quarantined: 0,
  };
  for (const column of COLUMNS) {
    for (const card of run[column]) counts[card.cancelled ? "cancelled" : card.state]++;
  }
  const isEmpty = counts.done + counts.pending + counts.waiting === 0;
  const hours = since === "7d" ? 168 : since === "24h" ? 24 : 12;
  return {
    ...{
      run_id: "nightly",
      run_dir: "/home/fleet/nightly",
      run_words: "",
      since: ago(hours * HOUR),
      until: ago(0),
      counts,
    },
    needs_you: isEmpty ? [] : needs(run),
    cancelled: counts.cancelled,
    done: { count: counts.done, proven: Math.round(counts.done * 0.98), unproven: [], by_hand: 0 },
    landed: {
      count: Math.round(counts.done * 0.92),
      targets: [
        { repository: "/home/fleet/web", target: "main", count: Math.round(counts.done * 0.42) },
        { repository: "/home/fleet/api", target: "main", count: Math.round(counts.done * 0.3) },
        { repository: "/home/fleet/ledger", target: "main", count: Math.round(counts.done * 0.2) },
      ].filter(({ count }) => count > 0),
      ...{ lost: [], waiting: isEmpty ? 0 : 14 },
    },
    outcomes: { done: counts.done, unproven: 31, timed_out: 4, failed: 13, rate_limited: 2 },
    cost: {
      ...{
        usd: isEmpty ? 0 : 41.86,
        unpriced_tokens: 0,
        tokens: 48_210_400,
        attempts: 331,
        unreadable: 0,
      },
      usd_per_landed: 0.159,
      budgets: isEmpty ? [] : [{ of: "day", unit: "usd", spent: 41.86, limit: 60 }],
      ...{ reserved_usd: 0, crew_today_usd: 1.95 },
    },
    ...{
      worked: [
        {
          name: "ada",
          kind: "worker",
          from: ago(hours * HOUR),
          to: ago(0),
          tasks: 61,
          busy_ms: 4e7,
          slots: [],
        },
      ],
      slowest: [],
      dearest: [],
      retried: [],
      killed: [],
      notes: [],
    },
  };
}

/** A test may have emptied a column. */
function needs(run) {
  const none = { id: "", title: "" };
  const [first = none, second = none] = run.review;
  const [failed = none, other = none] = run.failed;
  const all = [
    {
      kind: "review",
      subject: first.id,
      text: `proven; ${first.title}`,
      command: `viv approve ${first.id}`,
      count: 1,
      tasks: [first.id],
      blocks: 6,
      since: ago(300 * 60e3),
    },
    {
      kind: "review",
      subject: second.id,
      text: `not proven: no proof ran; ${second.title}`,
      command: `viv show ${second.id}`,
      count: 1,
      tasks: [second.id],
      blocks: 0,
      since: ago(240 * 60e3),
    },
    {
      kind: "choked",
      subject: failed.id,
      text: "3 × choked: TS2345: argument of type Instant is not assignable",
      command: `viv why ${failed.id}`,
      count: 3,
      tasks: [failed.id],
      blocks: 4,
      since: ago(60 * 60e3),
    },
    {
      kind: "failed",
      subject: other.id,
      text: "2 × timed out after 30m",
      command: `viv why ${other.id}`,
      count: 2,
      tasks: [other.id],
      blocks: 20,
      since: ago(180 * 60e3),
    },
    {
      kind: "merge",
      subject: "fix.188",
      text: "conflict in 2 files with main",
      command: "viv merge --continue fix.188",
      count: 1,
      tasks: ["fix.188"],
      blocks: 0,
      since: ago(2 * 60e3),
    },
    {
      kind: "account",
      subject: "codex-team",
      text: "codex-team is parked: not logged in",
      command: "viv accounts open codex-team",
      count: 1,
      tasks: [],
      blocks: 0,
      since: ago(64 * 60e3),
    },
    {
      kind: "crew",
      subject: "wren",
      text: "wren is parked after 5 crashes: ./edit.sh: no such file",
      command: "viv crew resume wren",
      count: 1,
      tasks: [],
      blocks: 0,
      since: ago(310 * 60e3),
    },
  ];
  return all.filter(({ subject }) => subject !== "");
}

export function timeline(since) {
  const from = Date.parse(since);
  const until = Date.now();
  const lanes = [];
  for (const [index, name] of [...WORKERS, "desk", "moss", "newt", "toad"].entries()) {
    const isCrew = index >= WORKERS.length;
    const spans = [];
    let at = from + index * 90e3;
    for (let k = 0; at < until - 60e3; k++) {
      const long =
        (isCrew ? 2 : 3) * 60e3 + random(index * 997 + k) ** 2 * (isCrew ? 5 : 18) * 60e3;
      const luck = random(index * 331 + k * 7);
      const end = Math.min(at + long, until);
      const outcome =
        end === until ? null : luck > 0.97 ? "failed" : luck > 0.9 ? "rate_limited" : "done";
      spans.push({
        ...{
          task: `${pick(TYPES, index * 71 + k)}.${100 + index * 40 + k}`,
          from: new Date(at).toISOString(),
        },
        ...{
          to: outcome === null ? null : new Date(end).toISOString(),
          outcome,
          attempt: 1,
          again: outcome === "failed" && k % 2 === 0,
        },
      });
      at = end + (isCrew ? 900e3 : 30e3 + random(k + index) * 80e3);
    }
    lanes.push({ name, kind: isCrew ? "crew" : "worker", spans });
  }
  const size = 600e3;
  const buckets = [];
  for (let at = from; at < until; at += size) {
    const ends = lanes
      .flatMap(({ kind, spans }) => (kind === "worker" ? spans : []))
      .filter(({ to }) => to && Date.parse(to) >= at && Date.parse(to) < at + size);
    const of = (outcome) => ends.filter((one) => one.outcome === outcome).length;
    buckets.push({
      at: new Date(at).toISOString(),
      proven: of("done"),
      done: 0,
      failed: ends.filter(({ outcome, again }) => outcome === "failed" && !again).length,
      other: of("rate_limited"),
    });
  }
  const third = (until - from) / 3;
  return {
    ...{ since, until: new Date(until).toISOString(), lanes, buckets },
    kills: [
      { name: "ada", at: new Date(from + third * 1.7).toISOString(), warrant: "w-1" },
      { name: "agent-6", at: new Date(from + third * 2.4).toISOString(), warrant: "w-2" },
    ],
    closed: [
      {
        account: "codex-team",
        from: new Date(from + third).toISOString(),
        to: new Date(from + third * 1.3).toISOString(),
      },
    ],
  };
}
