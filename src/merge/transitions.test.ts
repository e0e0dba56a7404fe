import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { LANDING_STATES, type Landing } from "./landing.ts";
import { advance, isSettled, LANDING_EVENTS, LANDING_TABLE, mermaid } from "./transitions.ts";

const fresh: Landing = {
  ...{ task: "t.1", state: "queued", at: "0", repository: "/r", branch: "viv/t.1" },
  ...{ base: "b", head: "h", target: "main", strategy: "merge", reworks: 0 },
};

const histories = fc.array(fc.constantFrom(...LANDING_EVENTS), { maxLength: 60 });

it("lands only what was proven since it was last queued, or what is in the target already", () => {
  fc.assert(
    fc.property(histories, (events) => {
      let one = fresh;
      let isProven = false;
      for (const event of events) {
        const to = LANDING_TABLE[one.state][event];
        if (to === undefined) {
          expect(() => advance(one, event, "1")).toThrow(/cannot be/);
          continue;
        }
        one = advance(one, event, "1");
        expect(one.state).toBe(to);
        if (event === "proven") isProven = true;
        if (event === "landed") expect(isProven).toBe(true);
        // A held one keeps its proof; anything that begins anew has none.
        if (one.state === "queued" || one.state === "merging") isProven = false;
        if (event === "resume" && !isProven) return; // the queue resumes only with a proof
      }
    }),
  );
});

it("leaves the landed state only for new work, and every state by some way", () => {
  expect(Object.keys(LANDING_TABLE.landed)).toEqual(["again"]);
  for (const state of LANDING_STATES) {
    const reached = new Set<string>([state]);
    for (const from of reached) {
      for (const to of Object.values(LANDING_TABLE[from as Landing["state"]])) reached.add(to);
    }
    expect(
      [...reached].some((one) => isSettled(one as Landing["state"])),
      state,
    ).toBe(true);
  }
});

it("forgets what an earlier state said", () => {
  const held = advance(fresh, "hold", "1", { reason: "dirty", command: "git", to: "x" });
  expect(held).toMatchObject({ state: "held", reason: "dirty", command: "git", to: "x" });
  const begun = advance({ ...held, reworks: 1 }, "begin", "2");
  expect(begun).toEqual({ ...fresh, state: "merging", at: "2", reworks: 1 });
});

it("is the picture in the docs", () => {
  const spec = readFileSync(new URL("../../docs/spec/merge.md", import.meta.url), "utf8");
  expect(spec).toContain(`\`\`\`mermaid\n${mermaid()}\n\`\`\``);
});
