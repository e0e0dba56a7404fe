import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { isAlive, pidsIn, textIn } from "../support/tmux.ts";
import { DANCES_MS, Scene } from "./support.ts";

/** Real sessions that hang, answer, answer late, flood, lie, run away: what becomes of them. */

/** Reads what is typed, and from the given question on says this, with N for the nonce. */
const ANSWERS = (from: number, how = "ALIVE N") => `
asked=0
while read -r line; do
  case "$line" in
    *"Nonce "*) asked=$((asked + 1)); nonce=\${line#*Nonce }; nonce=\${nonce%% *};
      [ "$asked" -ge ${from} ] && printf '${how}\\n' | sed "s/\\bN\\b/$nonce/g";;
  esac
done`;

/** Does this again and again, without a program for each pause. */
const EVERY = (seconds: number, what: string) =>
  `exec 3<> <(:); until read -rt ${seconds} -u 3; do ${what}; done`;

describe("an answer is a pardon", { timeout: DANCES_MS }, () => {
  it("at once, and is not waited for longer", async () => {
    const scene = new Scene();
    scene.suspect("good", ANSWERS(1));
    await scene.file("good");
    const warden = scene.up("--timeouts", "10m,10m,10m");
    expect(await scene.verdicts("good")).toEqual(["pardoned"]);
    expect(scene.tmux.has("good")).toBe(true);
    const receipt = scene.receipt("good");
    expect(receipt?.attempts).toMatchObject([
      { ended: "answered", arrived: true, submitted: true },
    ]);
    expect(receipt?.screen_after.join("\n")).toMatch(/ALIVE [0-9a-z]{6}/);
    expect(await warden.stop()).toBe(0);
  });

  it("late, after the second question", async () => {
    const scene = new Scene();
    scene.suspect("late", ANSWERS(2));
    await scene.file("late");
    scene.up("--timeouts", "500ms,10m");
    expect(await scene.verdicts("late")).toEqual(["pardoned"]);
    expect(scene.receipt("late")?.attempts.map(({ ended }) => ended)).toEqual([
      "silent",
      "answered",
    ]);
  });

  it("in its own words", async () => {
    const words = {
      bare: "ALIVE",
      loud: "ALIVE!",
      sentence: "Yes, it is ALIVE and working on X",
      labelled: "ALIVE (nonce: N)",
      joined: "ALIVE and N",
      reversed: "N ALIVE",
      json: '{"status": "ALIVE", "nonce": "N"}',
      busy: "running the test suite now...",
      three: "running the tests now\\nrunning the tests now\\nrunning the tests now",
    };
    const scene = new Scene();
    for (const [name, said] of Object.entries(words)) {
      scene.suspect(name, ANSWERS(1, said));
      await scene.file(name);
    }
    scene.up("--timeouts", "4s,10m", "--pool", "10");
    const names = Object.keys(words);
    expect(await scene.verdicts(...names)).toEqual(names.map(() => "pardoned"));
    for (const name of names) {
      expect(scene.receipt(name)?.attempts[0]?.ended, name).toMatch(/answered|replied/);
    }
  });

  it("with the word, though it had said that before", async () => {
    const scene = new Scene();
    scene.suspect("again", `echo ALIVE; ${ANSWERS(1, "ALIVE")}`);
    await scene.tmux.shows("again", "ALIVE");
    await scene.file("again");
    scene.up("--timeouts", "2s,10m");
    expect(await scene.verdicts("again")).toEqual(["pardoned"]);
  });

  it("and so is mere work, with the observations", async () => {
    const scene = new Scene();
    const transcript = join(scene.folder, "transcript.jsonl");
    writeFileSync(transcript, "");
    scene.suspect("works", `i=0; ${EVERY(0.1, 'i=$((i+1)); echo "compiled file $i"')}`);
    scene.suspect("writes", EVERY(0.1, `echo '{"step":1}' >>'${transcript}'`));
    scene.suspect("beside", "sleep 600");
    const loop = scene.script("loop.sh", `i=0; ${EVERY(0.1, 'i=$((i+1)); echo "linked file $i"')}`);
    scene.tmux.run("split-window", "-d", "-t", "beside", "bash", loop);
    await scene.file("works");
    await scene.file("writes", { watch: [transcript] });
    await scene.file("beside");
    scene.up("--timeouts", "3s,10m,10m");
    const all = ["works", "writes", "beside"];
    expect(await scene.verdicts(...all)).toEqual(all.map(() => "pardoned"));
    expect(scene.receipt("beside")?.evidence.join("\n")).toContain("another pane: linked file");
    expect(scene.receipt("works")?.evidence.join("\n")).toContain("compiled file");
    expect(scene.receipt("writes")?.evidence.join("\n")).toContain("transcript.jsonl");
  });
});

describe("a suspect that neither answers nor works is executed", { timeout: DANCES_MS }, () => {
  it("whatever its terminal shows", async () => {
    const scene = new Scene();
    scene.suspect("hung", "sleep 600");
    scene.suspect("echoes", "cat");
    scene.suspect("repeats", 'while read -r line; do echo "got: $line"; done');
    scene.suspect("said-before", "echo ALIVE; echo ALIVE; sleep 600");
    scene.tmux.run("new-session", "-d", "-s", "narrow", "-x", "40", "-y", "20", "cat");
    const all = ["hung", "echoes", "repeats", "said-before", "narrow"];
    for (const name of all) await scene.file(name);
    scene.up("--timeouts", "1s,1s,1s", "--pool", "10");
    expect(await scene.verdicts(...all)).toEqual(all.map(() => "executed"));
    expect(all.filter((name) => scene.tmux.has(name))).toEqual([]);
    for (const name of all) {
      const receipt = scene.receipt(name);
      expect(receipt?.attempts.map(({ ended }) => ended)).toEqual(["silent", "silent", "silent"]);
      expect(receipt?.exit.length).toBeGreaterThan(0);
      expect(receipt?.exit.every(({ gone_at }) => gone_at !== null)).toBe(true);
    }
  });

  it("but not one that cannot be asked, unless --unasked execute", async () => {
    const scene = new Scene();
    scene.script("story.txt", "We were so ALIVE\nALIVE\nALIVE 1234\n");
    const loops = EVERY(0.05, "echo ALIVE");
    const spins = EVERY(0.05, "printf '\\r%s working' '|'; printf '\\r%s working' '/'");
    const shows = `less '${join(scene.folder, "story.txt")}'`;
    const scripts = { loops, spins, shows };
    for (const [name, script] of Object.entries(scripts)) {
      scene.suspect(name, script);
      await scene.file(name);
      scene.suspect(`${name}-too`, script);
      await scene.file(`${name}-too`, { unasked: "execute" });
    }
    await scene.tmux.shows("shows", "1234");
    await scene.tmux.shows("shows-too", "1234");
    scene.up("--timeouts", "500ms,500ms", "--pool", "10");
    const names = Object.keys(scripts);
    expect(await scene.verdicts(...names)).toEqual(names.map(() => "failed"));
    expect(names.filter((name) => !scene.tmux.has(name))).toEqual([]);
    for (const name of names) expect(scene.receipt(name)?.why).toMatch(/not_asked.*--unasked/);
    const others = names.map((name) => `${name}-too`);
    expect(await scene.verdicts(...others)).toEqual(names.map(() => "executed"));
  });

  it("with all that it started: also what ignores TERM, and what left its session", async () => {
    const scene = new Scene();
    const pids = join(scene.folder, "pids");
    scene.suspect(
      "family",
      `export PIDS='${pids}'
trap '' TERM
echo $$ >>"$PIDS"
setsid bash -c 'trap "" TERM; echo $$ >>"$PIDS"; sleep 600; :' &
(setsid bash -c 'echo $$ >>"$PIDS"; exec sleep 600' &) &
sleep 600`,
    );
    const family = await pidsIn(pids, 3);
    await scene.file("family");
    scene.up("--timeouts", "500ms,500ms,500ms");
    expect(await scene.verdicts("family")).toEqual(["executed"]);
    expect(family.filter(isAlive)).toEqual([]);
    const exit = scene.receipt("family")?.exit ?? [];
    for (const pid of family) expect(exit.map((one) => one.pid)).toContain(pid);
    expect(exit.some(({ signal }) => signal === "SIGKILL")).toBe(true);
    await until("its epitaph is written", () =>
      textIn(join(scene.state, "epitaphs/w-family.md")).includes("SIGKILL"),
    );
  });
});

describe("a suspect that must not be killed is not", { timeout: DANCES_MS }, () => {
  it("a shell's prompt is not typed to; another of its name is another", async () => {
    const scene = new Scene();
    scene.tmux.session("shell", "bash", "--norc", "-i");
    scene.suspect("again", "sleep 600");
    const { files, tmux } = scene;
    await scene.file("shell");
    await scene.file("again", { filed_at: new Date(Date.now() - 3_600_000).toISOString() });
    await scene.file("never-was");
    scene.up("--timeouts", "200ms,200ms,200ms");
    const verdicts = await scene.verdicts("shell", "again", "never-was");
    expect(verdicts).toEqual(["already_dead", "failed", "already_dead"]);
    expect(scene.receipt("shell")?.why).toMatch(/nothing but bash.*--close.*--shell/);
    expect(scene.receipt("again")?.why).toMatch(/created|younger/);
    expect(tmux.has("shell") && tmux.has("again")).toBe(true);
    expect(tmux.screen("shell")).not.toContain("Warden");
    expect(files.dances()).toEqual([]);
  });

  it("one that waits for a person is reported, and neither asked nor killed", async () => {
    const scene = new Scene();
    const heard = join(scene.folder, "heard");
    scene.suspect("agent-3", `read -rp 'Delete all? [y/N] ' it; echo "$it" >'${heard}'; sleep 600`);
    await scene.tmux.shows("agent-3", "Delete all");
    await scene.file("agent-3");
    const warden = scene.up("--timeouts", "10m,10m,10m");
    expect(await scene.verdicts("agent-3")).toEqual(["pardoned"]);
    expect(scene.receipt("agent-3")?.why).toMatch(/^needs you: agent-3 .*Delete all/);
    await warden.says("it needs you", ({ kind }) => kind === "needs_you");
    expect(scene.tmux.screen("agent-3")).not.toContain("Warden");
    expect(textIn(heard)).toBe("");
  });

  it("a shell that its agent has left is closed if the warrant allows it", async () => {
    const scene = new Scene();
    scene.tmux.session("left", "bash", "--norc", "-i");
    await scene.tmux.shows("left", "bash-");
    await scene.file("left", { close: true });
    scene.up("--timeouts", "200ms");
    expect(await scene.verdicts("left")).toEqual(["already_dead"]);
    expect(scene.receipt("left")?.why).toContain("the session was closed");
    expect(scene.tmux.has("left")).toBe(false);
  });

  it("withdrawn in mid-dance, it lives on; its requester is notified", async () => {
    const scene = new Scene();
    scene.suspect("hung", "sleep 600");
    await scene.file("hung");
    const warden = scene.up("--timeouts", "10m,10m,10m");
    await warden.says("asked", ({ kind }) => kind === "asked");
    await scene.files.askToWithdraw("w-hung");
    expect(await scene.verdicts("hung")).toEqual(["pardoned"]);
    expect(scene.tmux.has("hung")).toBe(true);
    await until("the requester is notified", () =>
      textIn(join(scene.state, "inbox/deacon/w-hung.json")).includes("withdrawn"),
    );
  });

  it("after three executions a person is asked", async () => {
    const scene = new Scene("");
    const all = ["a", "b", "c", "d"];
    for (const name of all) scene.suspect(name, "sleep 600");
    for (const name of all) await scene.file(name);
    const warden = scene.up("--timeouts", "300ms,300ms,300ms");
    await warden.says("paused", ({ kind }) => kind === "paused");
    await until("three are executed", () => scene.files.receipts().length === 3);
    expect(all.filter((name) => scene.tmux.has(name))).toHaveLength(1);
    scene.files.resume(Date.now());
    await scene.verdicts(...all);
    expect(all.filter((name) => scene.tmux.has(name))).toEqual([]);
  });
});
