import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LANDING_STATES } from "../landing.ts";
import { decide, type Known } from "./decide.ts";
import type { Check, Comment, PullRequestView } from "./forge.ts";

const HEAD = "a".repeat(40);
const OTHER = "b".repeat(40);

const open: PullRequestView = {
  ...{ number: 3, url: "https://github.com/acme/app/pull/3", state: "open" },
  ...{ head: HEAD, base: "main", hasConflict: false, checks: [], comments: [] },
};
const known = (more: Partial<Known> = {}, view: Partial<PullRequestView> = {}): Known => ({
  ...{ landing: "pull_request", isDone: true, head: HEAD, pushed: [HEAD], sent: [] },
  ...more,
  view: { ...open, ...view },
});

const comment = (more: Partial<Comment> = {}): Comment => ({
  ...{ id: "c1", author: "alice", isTrusted: true, asks: true, body: "Please test it." },
  ...more,
});
const check = (name: string, state: Check["state"]): Check => ({ name, state });

describe("what follows from a pull request", () => {
  it("lands what was merged, also while its task is at work again", () => {
    for (const landing of ["pull_request", "reworked", "held", "needs_you", "closed"] as const) {
      expect(decide(known({ landing, isDone: false }, { state: "merged" }))).toEqual({
        do: "land",
      });
    }
    expect(decide(known({ head: OTHER }, { state: "merged" }))).toEqual({
      do: "land",
      reason: "its branch has commits that came after the merge",
    });
  });

  it("closes once what was closed", () => {
    expect(decide(known({}, { state: "closed" }))).toEqual({ do: "close" });
    expect(decide(known({ landing: "closed" }, { state: "closed" })).do).toBe("nothing");
  });

  it("pushes new commits, and those that a crash kept from the remote", () => {
    expect(decide(known({ landing: "reworked", head: OTHER })).do).toBe("push");
    expect(decide(known({ head: OTHER, pushed: [HEAD, OTHER] })).do).toBe("push");
    expect(decide(known({ landing: "reworked", isDone: false, head: OTHER })).do).toBe("nothing");
    expect(decide(known({ landing: "needs_you", head: OTHER })).do).toBe("nothing");
  });

  it("holds when others have pushed", () => {
    expect(decide(known({}, { head: OTHER, comments: [comment()] }))).toMatchObject({
      do: "hold",
      reason: expect.stringContaining("others have pushed"),
    });
  });

  it("notes a request that is open again", () => {
    for (const landing of ["held", "reworked", "closed", "queued"] as const) {
      expect(decide(known({ landing }))).toEqual({ do: "note" });
    }
  });

  it("sends red checks back when all have ended, once for a commit", () => {
    const checks = [check("build", "failed"), check("lint", "passed")];
    const step = decide(known({}, { checks }));
    expect(step).toMatchObject({
      ...{ do: "send", why: "red", ids: [`checks ${HEAD}`] },
      reason: "pull request 3: check build failed",
    });
    const running = [...checks, check("e2e", "running")];
    expect(decide(known({}, { checks: running }))).toEqual({
      do: "nothing",
      reason: "it is open: 1 check failed, 1 check running",
    });
    expect(decide(known({ sent: [`checks ${HEAD}`] }, { checks })).do).toBe("nothing");
    expect(decide(known({}, { checks: [check("build", "unknown")] })).do).toBe("nothing");
  });

  it("sends comments back that ask for a change, with the others as evidence", () => {
    const comments = [
      comment({ path: "src/a.ts", line: 12, url: "https://x/1" }),
      comment({ id: "c2", asks: false, body: "And thanks.\n\u001b[31mred" }),
    ];
    const step = decide(known({}, { comments }));
    expect(step).toMatchObject({ do: "send", why: "review", ids: ["c1", "c2"] });
    expect((step as { evidence: string }).evidence).toBe(
      [
        "The pull request https://github.com/acme/app/pull/3 was sent back: 1 comment asked for changes.",
        "## alice on src/a.ts:12",
        "> Please test it.",
        "https://x/1",
        "## alice",
        "> And thanks.\n> [31mred\n",
      ].join("\n\n"),
    );
    const stranger = comment({ id: "c3", isTrusted: false, body: "STRANGE" });
    expect(decide(known({}, { comments: [...comments, stranger] }))).toEqual(step);
    expect(decide(known({}, { comments: [stranger] })).do).toBe("nothing");
    const [, remark] = comments;
    expect(decide(known({}, { comments: remark ? [remark] : [] })).do).toBe("nothing");
  });

  it("sends a conflict back before anything else, with all there is", () => {
    const checks = [check("build", "failed")];
    expect(decide(known({}, { hasConflict: true, checks, comments: [comment()] }))).toMatchObject({
      ...{ why: "conflict", ids: [`conflict ${HEAD}`, `checks ${HEAD}`, "c1"] },
      reason:
        "pull request 3: it conflicts with main; check build failed; 1 comment asked for changes",
    });
  });
});

const anyKnown: fc.Arbitrary<Known> = fc.record({
  // Mostly those in which there is something to decide.
  landing: fc.oneof(
    { weight: 3, arbitrary: fc.constant("pull_request" as const) },
    fc.constantFrom(...LANDING_STATES),
  ),
  isDone: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.boolean()),
  head: fc.oneof({ weight: 3, arbitrary: fc.constant(HEAD) }, fc.constantFrom(OTHER, null)),
  pushed: fc.subarray([HEAD, OTHER]),
  sent: fc.subarray(["c1", "c2", "c3", `checks ${HEAD}`, `conflict ${HEAD}`]),
  view: fc.record({
    number: fc.constant(3),
    url: fc.constant("https://x/3"),
    state: fc.oneof(
      { weight: 3, arbitrary: fc.constant("open" as const) },
      fc.constantFrom("merged" as const, "closed" as const),
    ),
    head: fc.oneof({ weight: 3, arbitrary: fc.constant(HEAD) }, fc.constant(OTHER)),
    base: fc.constant("main"),
    hasConflict: fc.boolean(),
    checks: fc.array(
      fc.record({
        name: fc.constantFrom("build", "lint"),
        state: fc.constantFrom("passed" as const, "failed" as const, "running" as const),
      }),
    ),
    comments: fc.uniqueArray(
      fc.record({
        id: fc.constantFrom("c1", "c2", "c3"),
        author: fc.constantFrom("alice", "mallory"),
        isTrusted: fc.boolean(),
        asks: fc.boolean(),
        body: fc.constantFrom("TRUSTED", "STRANGE"),
      }),
      { selector: ({ id }) => id },
    ),
  }),
});

describe("whatever is known", () => {
  it("sends nothing twice, and nothing of strangers", () => {
    fc.assert(
      fc.property(anyKnown, (facts) => {
        const comments = facts.view.comments.map((one) => ({
          ...one,
          body: one.isTrusted ? "TRUSTED" : "STRANGE",
        }));
        const all = { ...facts, view: { ...facts.view, comments } };
        const step = decide(all);
        if (step.do !== "send") return;
        expect(step.evidence).not.toContain("STRANGE");
        for (const id of step.ids) expect(all.sent).not.toContain(id);
        const strangers = comments.filter(({ isTrusted }) => !isTrusted).map(({ id }) => id);
        for (const id of strangers) expect(step.ids).not.toContain(id);
        // Once it was sent, the same facts ask for nothing.
        expect(decide({ ...all, sent: [...all.sent, ...step.ids] }).do).toBe("nothing");
      }),
      { numRuns: 500 },
    );
  });

  it("sends back only done tasks with an open request, and lands only merged ones", () => {
    fc.assert(
      fc.property(anyKnown, (facts) => {
        const step = decide(facts);
        if (step.do === "land") expect(facts.view.state).toBe("merged");
        if (step.do === "close") expect(facts.view.state).toBe("closed");
        if (step.do !== "send" && step.do !== "push") return;
        expect(facts).toMatchObject({ isDone: true, view: { state: "open" } });
        if (step.do === "send") expect(facts.landing).toBe("pull_request");
      }),
      { numRuns: 500 },
    );
  });
});
