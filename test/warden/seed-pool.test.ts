import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { TmuxServer } from "../support/tmux.ts";
import { seedDance, seedWarrant, writeSeedPool } from "./seed-files.ts";
import { DANCES_MS, Scene } from "./support.ts";

/** Hangs, and shows what is typed to it. */
const HANGS = "while :; do read -r line; done";
const ANSWERS = 'while read -r line; do case "$line" in *ALIVE*) echo "yes, ALIVE";; esac; done';

/** The seed's files name no server: they mean the user's own. */
function asOwnServer({ folder }: Scene, tmux: TmuxServer): void {
  const { TMUX_TMPDIR } = process.env;
  const uid = process.getuid?.() ?? 0;
  mkdirSync(join(folder, `tmux-${uid}`), { mode: 0o700 });
  symlinkSync(tmux.socket, join(folder, `tmux-${uid}/default`));
  process.env.TMUX_TMPDIR = folder;
  onTestFinished(() => {
    if (TMUX_TMPDIR === undefined) delete process.env.TMUX_TMPDIR;
    else process.env.TMUX_TMPDIR = TMUX_TMPDIR;
  });
}

it("takes over the seed's pool: each target has its own dance, time-outs and outcome", {
  timeout: DANCES_MS,
}, async () => {
  const scene = new Scene();
  asOwnServer(scene, scene.tmux);
  scene.suspect("Toast", ANSWERS);
  scene.suspect("Shadow", HANGS);
  scene.suspect("witness-gastown", HANGS);
  scene.tmux.run("set-option", "-g", "@viv-ask", "on");
  writeSeedPool(scene.state, Date.now()); // after the sessions: a younger one would be another
  const warden = scene.up("--timeouts", "1s,1500ms,2s");
  const targets = ["Toast", "Shadow", "witness-gastown", "polecat-Copper"];
  expect(await scene.verdicts(...targets)).toEqual([
    ...["pardoned", "executed", "executed", "already_dead"],
  ]);
  expect(targets.map((target) => scene.tmux.has(target))).toEqual([true, false, false, false]);
  const asked = (target: string) =>
    scene.receipt(target)?.attempts.flatMap((one) => (one.asked_at === null ? [] : one.number));
  expect(asked("Toast")).toEqual([2]);
  expect(asked("Shadow")).toEqual([2, 3]);
  expect(asked("witness-gastown")).toEqual([1, 2, 3]);
  expect(scene.files.epitaph("gt-shadow")).toContain("1. asked by a warden before this one");
  expect(await warden.stop()).toBe(0);
  for (const [dog, verdict] of [
    ["dog-123", "pardoned"],
    ["dog-456", "executed"],
  ]) {
    expect(readFileSync(join(scene.state, `active/${dog}.done`), "utf8")).toBe(`${verdict}\n`);
    expect(existsSync(join(scene.state, `active/${dog}.json`))).toBe(false);
  }
  expect(existsSync(join(scene.state, "boot/.boot-status.json"))).toBe(true);
});

it("a warrant that names no server is for the one in [warden] tmux_socket", {
  timeout: DANCES_MS,
}, async () => {
  const scene = new Scene();
  const own = new TmuxServer();
  asOwnServer(scene, own);
  const config = `[warden]\nkill_after = "300ms"\ntmux_socket = "${scene.tmux.socket}"\n`;
  writeFileSync(join(scene.folder, "viv.toml"), config);
  const targets = ["Toast", "Shadow", "Copper"];
  for (const target of targets) {
    scene.suspect(target, HANGS);
    own.session(target, "bash", scene.script("own.sh", HANGS));
  }
  for (const tmux of [own, scene.tmux]) tmux.run("set-option", "-g", "@viv-ask", "on");
  const now = Date.now();
  const put = (name: string, content: unknown) => {
    mkdirSync(join(scene.state, name, ".."), { recursive: true });
    writeFileSync(join(scene.state, name), JSON.stringify(content));
  };
  put("active/dog-123.json", seedDance("dog-123", "Toast", "interrogating", now));
  put("warrants/warrant-abc.json", seedWarrant("gt-abc", "Shadow", "crash_loop", now));
  // The same target, with and without its server: one dance.
  put("warrants/w-1.json", seedWarrant("w-1", "Copper", "crash_loop", now));
  const named = { ...seedWarrant("w-2", "Copper", "crash_loop", now), socket: scene.tmux.socket };
  put("warrants/w-2.json", named);
  const warden = scene.up("--timeouts", "500ms,1s");
  expect(await scene.verdicts(...targets)).toEqual(["executed", "executed", "executed"]);
  expect(await warden.stop()).toBe(0);
  expect(targets.map((target) => scene.tmux.has(target))).toEqual([false, false, false]);
  expect(targets.map((target) => own.has(target))).toEqual([true, true, true]);
  expect(own.run("capture-pane", "-p", "-t", "Toast").trim()).toBe("");
  expect(readFileSync(join(scene.state, "rejected/w-2.json.why"), "utf8")).toContain("w-1");
});
