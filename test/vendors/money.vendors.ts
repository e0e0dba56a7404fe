import { expect, test } from "vitest";
import { describeEach, type Program, Vendors } from "./support.ts";

/** Budgets while each vendor's real program runs, and what is counted of a run that was killed. */

const vendors = Vendors.forThisFile();

/** One answer of 20,000 tokens costs ten cents, and little else. */
const PRICES = ["[prices]", '"*" = { input = 1, output = 5, cached_read = 0.1 }'];
const DEAR = "loop+out=20000";

describeEach((program) => {
  test("a budget in dollars ends it at the answer that crosses", async () => {
    const lines = ["budget = { usd = 1.0 }", ...PRICES];
    const route = await vendors.route(program, DEAR, { ...runsAll(program, lines), attempts: 1 });
    await route.work();
    const { history } = await route.json("show", "t.1");
    expect(history[0].note).toContain("the budget of this attempt is used up");
    // The tenth crosses; one more may have been asked for before the tree was gone.
    const answers = vendors.server.work(route.mode).length;
    expect(answers).toBeGreaterThanOrEqual(10);
    expect(answers).toBeLessThanOrEqual(12);
    const { output } = await route.used();
    expect(output).toBeGreaterThanOrEqual(10 * 20_000);
  });

  test("a budget in tokens ends it", async () => {
    const lines = ["budget = { tokens = 100000 }"];
    const route = await vendors.route(program, DEAR, { ...runsAll(program, lines), attempts: 1 });
    await route.work();
    expect((await route.json("show", "t.1")).history[0].note).toContain("is used up");
    expect(vendors.server.work(route.mode).length).toBeLessThanOrEqual(7);
  });

  test("runs that are killed and resumed are counted once", async () => {
    const more = { ...runsAll(program, []), attempts: 2, timeout: "25s" };
    const route = await vendors.route(program, "loop+slow=2", more);
    await route.work();
    const { input } = await route.used();
    const told = vendors.server.told(route.mode).input;
    expect(input).toBeLessThanOrEqual(told);
    // Of each attempt the last answer may have come when nobody listened any more.
    expect(input).toBeGreaterThanOrEqual(told - 2 * 1000);
    expect(input).toBeGreaterThan(0);
  });
});

/** claude runs no command unless its person has allowed it beforehand. */
function runsAll(program: Program, lines: readonly string[]): { lines: string[] } {
  const flags = program === "claude" ? ['flags = ["--allowedTools", "Bash"]'] : [];
  return { lines: [...flags, ...lines] };
}
