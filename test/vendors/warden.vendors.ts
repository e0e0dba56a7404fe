import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { isAlive } from "../support/tmux.ts";
import { describeEach, type Program, Vendors } from "./support.ts";
import { DIALOG, PERSON, Terminal } from "./terminal.ts";

/** A real warden and each vendor's terminal program: nobody is wrongly killed, nothing approved. */

const vendors = Vendors.forThisFile();

/** Three questions, with this time for each. */
const up = ({ scene }: Terminal, seconds: number) =>
  scene.up("--timeouts", Array(3).fill(`${seconds}s`).join(","));

/** All of these come from a model that lives; the last one has neither the word nor the code. */
const WORDINGS = ["exact", "word", "words", "json", "reversed", "code", "wrong", "mute"];

describeEach((program: Program) => {
  test("a permission dialog is never answered, and is reported as waiting for a person", async () => {
    const terminal = await Terminal.open(vendors, program, "ok+ask");
    await terminal.prompt("please do the work");
    await terminal.shows(DIALOG[program]);
    const warden = up(terminal, 2);
    await terminal.file();
    const report = await terminal.reported(warden);
    await warden.stop();
    expect(terminal.has("report.txt"), "nobody allowed the command").toBe(false);
    expect(terminal.lives, "the session lives").toBe(true);
    expect(terminal.screen()).toMatch(DIALOG[program]);
    expect(terminal.receipts().map(({ verdict }) => verdict)).not.toContain("executed");
    expect(report).toMatch(PERSON);
    // Nor was anything typed that the program took as its person's words.
    expect(server().work(terminal.mode)).toHaveLength(1);
  });

  test("an idle program that answers is pardoned, in whatever words", async () => {
    const terminal = await Terminal.open(vendors, program, "alive");
    up(terminal, 10);
    for (const [at, wording] of WORDINGS.entries()) {
      server().become(terminal.mode, `alive=${wording}`);
      await terminal.file();
      const { verdict, why, attempts } = await terminal.receipt(at + 1);
      expect.soft({ wording, verdict, why }).toMatchObject({ wording, verdict: "pardoned" });
      // It was idle: the first question must have reached it.
      expect.soft({ wording, attempts: attempts.length }).toEqual({ wording, attempts: 1 });
      expect(terminal.lives, `the session lives after ${wording}`).toBe(true);
      await terminal.settles();
    }
    const asked = server()
      .work(terminal.mode)
      .filter(({ fresh }) => /health check/i.test(fresh ?? ""));
    expect(asked).toHaveLength(WORDINGS.length);
  });

  test.each(["wait=30", "busy=30"])(
    "a working program is not executed while its tool call runs (%s)",
    async (mode) => {
      const terminal = await Terminal.open(vendors, program, `${mode}+alive`, "runs all");
      await terminal.prompt("please do the work");
      const [, seconds] = mode.split("=");
      const isAtWork = () =>
        vendors.processes().some(({ command }) => command.startsWith(`timeout ${seconds} `));
      await until("the tool call runs", isAtWork, 60);
      up(terminal, 2);
      await terminal.file();
      // When the tool call is over, the question reaches the model, and that answers.
      const { verdict, why } = await terminal.receipt();
      expect({ verdict, why }).toMatchObject({ verdict: "pardoned" });
      expect(terminal.lives).toBe(true);
      // It could finish: the model was asked again, after its tool call or with the question (codex).
      await until("the turn goes on", () => server().work(terminal.mode).length > 1, 60);
    },
  );

  test("half-typed text stays in the box, alone and unsent", async () => {
    const terminal = await Terminal.open(vendors, program, "talk+alive");
    await terminal.type("half a thought");
    const warden = up(terminal, 2);
    await terminal.file();
    const report = await terminal.reported(warden);
    await warden.stop();
    expect(terminal.lives).toBe(true);
    expect(report).not.toContain('"executed"');
    expect(terminal.screen()).toContain("half a thought");
    expect(terminal.screen()).not.toMatch(/health check|ALIVE/i);
    const sent = server()
      .work(terminal.mode)
      .filter(({ fresh }) => fresh?.includes("half a thought"));
    expect(sent).toEqual([]);
  });

  test("a hung program with no children at work is executed at last, with a receipt", async () => {
    const terminal = await Terminal.open(vendors, program, "hang");
    await terminal.prompt("please do the work");
    const pane = Number(terminal.scene.tmux.show(program, "#{pane_pid}"));
    const keeper = terminal.scene.tmux.session("keeper", "cat"); // so that the server stays
    up(terminal, 2);
    // Its turn never ends: the question behind it is waited for only so long.
    await terminal.file({ patience_ms: 5_000 });
    const { verdict, why, exit, survivors } = await terminal.receipt();
    expect(`${verdict}: ${why}`).toMatch(/^executed/);
    expect(exit.map(({ pid }) => pid)).toContain(pane);
    expect(survivors).toEqual([]);
    expect(isAlive(pane)).toBe(false);
    expect(terminal.lives).toBe(false);
    expect(keeper).not.toBe("");
  });
});

function server() {
  return vendors.server;
}
