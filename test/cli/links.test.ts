import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { Running, viv } from "./support.ts";

/** A handler that puts a link in the place of a folder of the run: nothing is written through it. */

function newPlace() {
  const base = newFolder("viv-links-");
  const at = (name: string) => join(base, name);
  mkdirSync(at("victim"));
  const env = { VIV_STATE: at("state") };
  const around = { cwd: base, env };
  const handler = (text: string) => {
    writeFileSync(at("handle.sh"), `#!/bin/sh\n${text}\n`);
    chmodSync(at("handle.sh"), 0o755);
  };
  const config = (text: string) =>
    writeFileSync(
      at("viv.toml"),
      `run = "run"\n[handlers.default]\nhandler = "./handle.sh"\n${text}\n`,
    );
  expect(viv(["enqueue", "--run", "run", "--type", "t", "--id", "a"], around).status).toBe(0);
  return { base, at, around, handler, config };
}

it("in a sandbox without a network, whose answer the worker writes outside", () => {
  const { at, around, handler, config } = newPlace();
  handler(`cd "$VIV_RUN" && mv artifacts x; rm -rf artifacts; ln -s ${at("victim")} artifacts
for folder in artifacts done claimed ledger .viv; do mv $folder $folder.x; ln -s ${at("victim")} $folder; done
ln -s ${at("victim")} "$VIV_RUN/artifacts/.sessions"
echo the answer`);
  writeFileSync(at("prompt.md"), "go");
  config('engine = "exec"\nprompt = "prompt.md"\nsandbox = "no-network"');
  const { stdout } = viv(["work", "--drain"], around);
  expect(stdout).toContain("1 done");
  expect(readdirSync(at("victim"))).toEqual([]);
  expect(readFileSync(at("run/artifacts/a.md"), "utf8")).toBe("the answer\n");
});

/** Puts a link in the place of this folder, and lets the handler go on. */
async function flipped(folder: string) {
  const { at, around, handler, config } = newPlace();
  handler(`cd "$VIV_RUN"
if [ ! -e ${at("once")} ]; then
  # Else the worker, which has yet to note our number there, would end us half-way.
  until [ "$(grep -c pid .viv/processes/a.json)" = 2 ]; do sleep 0.02; done
  touch ${at("once")}; mv ${folder} ${at("away")}; ln -s ${at("victim")} ${folder}
  echo said; echo > ${at("flipped")}
fi`);
  config('max_attempts = 3\nbackoff = "1ms"\ndone_when = "true"');
  const worker = new Running(["work", "--drain", "--worker-id", "w"], around);
  await until("the link is there", () => existsSync(at("flipped")));
  return { at, around, worker };
}

it.each(["done", "ledger", "artifacts", ".viv", ".viv/processes", ".viv/attempts"])(
  "%s, outside of a sandbox: it is waited for until it is put back",
  async (folder) => {
    const { at, around, worker } = await flipped(folder);
    // Either it does not need that folder any more, or it says what is wrong and tries again.
    await worker.says(/symbolic link|a done|a failed|1 done/);
    expect(readdirSync(at("victim"))).toEqual([]);
    rmSync(at(`run/${folder}`), { recursive: true, force: true });
    renameSync(at("away"), at(`run/${folder}`));
    expect((await worker.end()).status).toBe(0);
    expect(readdirSync(at("victim"))).toEqual([]);
    const { state } = JSON.parse(viv(["show", "--json", "a"], around).stdout);
    expect(state, worker.stdout).toBe("done");
  },
);

it.each(["claimed", "claimed/w"])(
  "%s: the claim is gone, and nothing is written",
  async (folder) => {
    const { at, worker } = await flipped(folder);
    await worker.says(/symbolic link|taken away/);
    expect(readdirSync(at("victim"))).toEqual([]);
  },
);
