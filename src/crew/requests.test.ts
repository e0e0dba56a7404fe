import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import type { Context } from "../operation/operation.ts";
import { crewFilesIn } from "./crew-files.ts";
import type { CrewPorts } from "./crew-ports.ts";
import { findCrew } from "./requests.ts";

/** A crew that does something while a command asks whether it is still there. */
async function crewThat(
  beforeIsUp: (looks: number, files: ReturnType<typeof crewFilesIn>) => boolean,
) {
  const state = newFolder();
  const files = crewFilesIn(state);
  const crew = { host: "h", boot: "b", pid: 1, started: "1", manifest: "", port: null };
  const text = JSON.stringify({ ...crew, singleton: false, members: [], since: "" });
  writeFileSync(join(state, "crew.json"), text);
  let looks = 0;
  const ports = {
    filesIn: () => files,
    isThere: () => true,
    newMark: () => "1",
    machine: { vitality: () => (beforeIsUp(++looks, files) ? "alive" : "gone") },
    timers: { after: (_: number, act: () => void) => void setImmediate(act) },
  } as unknown as CrewPorts;
  const here = { config: null, cwd: state };
  const { ask } = await findCrew({ here, use: async () => ports } as unknown as Context, state);
  if (ask === null) throw new Error("it is up");
  return ask;
}

it("takes the answer that a crew gives in its last moment", async () => {
  const ask = await crewThat((looks, files) => {
    if (looks === 3) files.answer("stop-1", { ok: true });
    return looks < 3;
  });
  expect(await ask({ cmd: "stop" })).toEqual({ ok: true });
});

it("says of a crew that has ended without an answer that it has", async () => {
  const ask = await crewThat((looks) => looks < 3);
  await expect(ask({ cmd: "stop" })).rejects.toThrow("the crew ended before it answered.");
});
