import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { describeEach, MODELS, type Program, Vendors } from "./support.ts";

/** `viv work` and a crew's tick with each vendor's real program. */

const vendors = Vendors.forThisFile();
const { parse } = JSON;

describeEach((program) => {
  test("a task is done, with proof, and its tokens are counted", async () => {
    const route = await vendors.route(program, "ok");
    await route.work();
    expect(await route.json("show", "t.1")).toMatchObject({ state: "done" });
    expect(parse(route.read("run/artifacts/t.1.proof.json"))).toMatchObject({ exit: 0 });
    expect(parse(route.read("run/artifacts/t.1.session.json")).session).not.toBe("");
    const told = vendors.server.told(route.mode);
    expect(told.input).toBeGreaterThan(1000);
    expect(await route.used()).toMatchObject({ input: told.input });
  });

  test("a file is written with the program's own tool", async () => {
    const route = await vendors.route(program, "write");
    await route.work();
    expect(await route.json("show", "t.1")).toMatchObject({ state: "done" });
  });

  test("a resumed session is counted once", async () => {
    const route = await vendors.route(program, "forget");
    await route.work();
    const { state, history } = await route.json("show", "t.1");
    expect({ state, history }).toMatchObject({
      state: "done",
      history: [{ outcome: "unproven" }, {}],
    });
    // The second attempt went on with the first one's conversation: its model knew what it had said.
    expect(vendors.server.work(route.mode).at(-1)?.prompt).toContain("did not count");
    expect(await route.used()).toMatchObject({ input: vendors.server.told(route.mode).input });
  });

  test("cancel ends the whole tree", async () => {
    const route = await vendors.route(program, "sleep=700", runsAll(program));
    const worker = route.worker();
    await until("both processes of the tool call run", () => sleepers("700").length >= 2, 120);
    await route.viv("cancel", "t.1");
    await until("the tree is gone", () => sleepers("700").length === 0);
    await worker.end(60);
    expect(await route.json("show", "t.1")).toMatchObject({ state: "cancelled" });
  });

  test("a time limit ends the whole tree", async () => {
    // codex tells its model after 30 s that the command still runs; the model then ends its turn.
    const timeout = program === "codex" ? "25s" : "60s";
    const more = { ...runsAll(program), timeout, attempts: 1 };
    const route = await vendors.route(program, "sleep=800", more);
    const worker = route.worker();
    await until("both processes of the tool call run", () => sleepers("800").length >= 2, 60);
    await worker.end(90);
    expect(sleepers("800")).toEqual([]);
    const shown = await route.json("show", "t.1");
    expect(shown).toMatchObject({ state: "failed", history: [{ outcome: "timed_out" }] });
  });

  test("a crew's member has its tick", async () => {
    const route = await vendors.route(program, "talk");
    vendors.trust(route.folder, route.mode);
    const drawer = `:DEF: moss.md\n:ENGINE: ${program}\n:MODEL: ${MODELS[program]}\n:MODE: edit\n`;
    writeFileSync(join(route.folder, "moss.md"), "You are moss. Say what you see.\n");
    writeFileSync(join(route.folder, "crew.org"), `* moss\n:PROPERTIES:\n${drawer}:END:\n`);
    const env = { ...vendors.env, ...vendors.envOf(program, route.mode) };
    const up = route.runningWith(env, "crew", "up", "crew.org", "--grace=0s", "--json");
    const ran = () => lines(up.stdout).filter(({ kind }) => kind === "ran");
    await until(`moss has run: ${up.stdout}`, () => ran().length > 0, 120);
    expect(ran()[0]).toMatchObject({ name: "moss", outcome: "done" });
    up.child.kill("SIGTERM");
    expect(await up.end()).toMatchObject({ status: 0, stderr: "" });
    const asked = vendors.server.work(route.mode);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.prompt).toContain("You are moss");
  });
});

/** claude runs no `setsid` unless its person has allowed every command beforehand. */
function runsAll(program: Program): { lines: string[] } {
  return { lines: program === "claude" ? ['flags = ["--allowedTools", "Bash"]'] : [] };
}

function lines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => parse(line));
}

/** The two processes of the server's `sleep=N`: the second has left its group and its session. */
function sleepers(seconds: string) {
  return vendors
    .processes()
    .filter(({ command }) => new RegExp(`^timeout ${seconds}1? tail`).test(command));
}
