import { describe, expect, it } from "vitest";
import type { Attempt, Receipt } from "./dance.ts";
import { epitaphOf } from "./epitaph.ts";

const AT = "2026-11-15T17:00:00.000Z";
const GONE = "2026-11-15T17:07:10.000Z";

const attempt = (number: number, more: Partial<Attempt> = {}): Attempt => ({
  ...{ number, nonce: "n", timeout_ms: 60_000, asked_at: AT, channel: "pane %3", arrived: true },
  ...{ submitted: true, bursts: [], ended_at: AT, ended: "silent", ...more },
});

const leader = { pid: 41, started: "9", parent: 1, command: "node agent.js" };
const child = { pid: 42, started: "10", parent: 41, command: "sleep 600" };

const receipt = (more: Partial<Receipt> = {}): Receipt => ({
  dog: "dog-1",
  verdict: "executed",
  why: "it was silent three times",
  warrant: {
    ...{ id: "w1", target: "agent-1", reason: "no_progress", requester: "deacon", filed_at: AT },
    ...{ kind: "tmux", bound: null, watch: [], shell: false, socket: null, home: null },
  },
  bound: {
    ...{ is: "session", socket: "/tmp/t", server: { pid: 7, started: "1" } },
    ...{ session: "$3", created: 1_763_000_000 },
  },
  started_at: AT,
  ended_at: GONE,
  duration_ms: 430_000,
  attempts: [attempt(1), attempt(2, { submitted: false }), attempt(3, { arrived: false })],
  evidence: [],
  screen_before: ["$ agent", "thinking …"],
  screen_after: [],
  tree: [leader, child],
  exit: [
    { ...leader, signal: "SIGTERM", gone_at: GONE },
    { ...child, signal: "SIGKILL", gone_at: GONE },
  ],
  survivors: [],
  reaped: ["t.1"],
  told: [
    { by: "inbox", trouble: null },
    { by: "hook", trouble: "exit 3" },
  ],
  ...more,
});

describe("an epitaph", () => {
  it("has the target, the reason and the verdict", () => {
    expect(epitaphOf(receipt())).toBe(`# Executed: \`agent-1\`

it was silent three times.

- Verdict: **executed**
- Target: tmux session \`agent-1\`, \`$3\` of \`/tmp/t\`, created 2025-11-13T02:13:20.000Z
- Reason: \`no_progress\`
- Asked for by: \`deacon\`, ${AT} (warrant \`w1\`)
- Dog: \`dog-1\`, from ${AT} to ${GONE} (7m 10s)
- Tasks given back: \`t.1\`

## Attempts

1. asked at ${AT} in \`pane %3\`; 1m to answer; silent at ${AT}
2. asked at ${AT} in \`pane %3\`, not seen to be submitted; 1m to answer; silent at ${AT}
3. asked at ${AT} in \`pane %3\`, not seen to arrive; 1m to answer; silent at ${AT}

## Its processes

- pid 41 (child of 1): \`node agent.js\`, gone after SIGTERM at ${GONE}
- pid 42 (child of 41): \`sleep 600\`, gone after SIGKILL at ${GONE}

## Its screen before

\`\`\`
$ agent
thinking …
\`\`\`

## The requester could not be notified

- hook: \`exit 3\`
`);
  });

  it("lists survivors and observations", () => {
    const text = epitaphOf(
      receipt({
        verdict: "failed",
        exit: [{ ...child, signal: "SIGKILL", gone_at: null }],
        tree: [child],
        survivors: [42],
        attempts: [
          attempt(1, { ended: "progress", bursts: [{ at: AT, source: "screen", what: "+ 3" }] }),
        ],
        evidence: ["new output at two looks"],
      }),
    );
    expect(text).toContain("- **Survivors:** pid 42");
    expect(text).toContain("`sleep 600`, **still there**");
    expect(text).toContain(`   - ${AT}, \`screen\`: \`+ 3\``);
    expect(text).toContain("- `new output at two looks`");
  });

  it("escapes text of others", () => {
    const evil = "`</script>`` # x\n## y";
    const base = receipt();
    const text = epitaphOf({
      ...base,
      why: "<b>`x`</b>",
      warrant: { ...base.warrant, target: evil, reason: evil, requester: "" },
      screen_before: ["```", "````js", "\u001b[31mred\u0007"],
      screen_after: ["ok"],
      attempts: [],
    });
    expect(text).toContain("``` `</script>`` # x ## y ```");
    expect(text).toContain("&lt;b>\\`x\\`&lt;/b>.");
    expect(text).toContain("`````\n```\n````js\n[31mred\n`````");
    expect(text).toContain("It was not asked.");
    expect(text.split("\n").filter((line) => line.startsWith("## y"))).toEqual([]);
  });

  it("is there for each verdict and kind", () => {
    for (const verdict of ["pardoned", "executed", "already_dead", "failed"] as const) {
      const { warrant } = receipt();
      const bound = {
        is: "process",
        host: "h",
        boot: "b",
        pid: 5,
        started: "1",
        claim: "",
      } as const;
      const given = { ...warrant, kind: "worker" as const, home: "/run" };
      const text = epitaphOf(receipt({ verdict, bound, warrant: given }));
      expect(text).toContain("worker `agent-1` of `/run`, pid 5 on `h`");
    }
    expect(epitaphOf(receipt({ bound: null }))).toContain("tmux session `agent-1`\n");
  });
});
