import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import type { UpHost } from "../fleet/up-ports.ts";
import { readTrusted } from "../platform/files/owned.ts";
import { localMachine } from "../platform/processes/machine.ts";
import type { ConfigRead } from "../work/host.ts";
import { goodConfigEnv } from "./good-config.ts";
import { openRun } from "./open-run.ts";

/** Processes that live around a pit, and their files in it. */
export async function upHost(): Promise<UpHost> {
  const [{ localHandlers }, { localChildren, timers }, { upFilesIn }, { watchConfig }] =
    await Promise.all([
      import("../platform/processes/handlers.ts"),
      import("../platform/processes/children.ts"),
      import("../fleet/up-files.ts"),
      import("./settings/watch-config.ts"),
    ]);
  const machine = localMachine();
  return {
    machine,
    timers,
    followConfig: (config) => {
      if (config === undefined) return { handing: () => ({}), stop: () => {} };
      const { file } = config;
      let { text } = config;
      const take = (read: ConfigRead) => {
        if ("config" in read) text = read.config.text;
      };
      const stop = watchConfig(file, take, { counts: text });
      return { handing: () => goodConfigEnv({ file, text }), stop };
    },
    children: localChildren(machine),
    handlers: localHandlers(),
    filesIn: upFilesIn,
    readText: readTrusted,
    isFolder: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
    workersIn: async (pit) => {
      const store = await openRun(pit, { readOnly: true });
      try {
        return await store.workers();
      } finally {
        await store.close();
      }
    },
    newMark: randomUUID,
  };
}
