import { VivError } from "../base/errors.ts";
import type { UpEvent } from "./events.ts";
import type { UpHost } from "./ports.ts";
import type { UpFiles } from "./up-files.ts";

const KILL_AFTER_MS = 5_000;

/**
 * Makes the pit ours, or says who has it. What a `viv up` left behind that died is dealt with: its
 * workers end by themselves, because their stdin has closed; its runs are ended here.
 */
export async function takeOver(
  files: UpFiles,
  host: UpHost,
  agents: readonly string[],
  tell: (event: UpEvent) => void,
): Promise<void> {
  if (!(await files.take())) throw takenError(files, host);
  const self = host.machine.self();
  for (const name of files.names()) {
    const run = files.agent(name)?.run;
    if (run && run.host === self.host && run.boot === self.boot) {
      const wasThere = host.machine.vitality(run) === "alive";
      const survivors = await host.handlers.endTree(run, { killAfterMs: KILL_AFTER_MS });
      if (wasThere) tell({ kind: "leftover", name, pid: run.pid, survivors });
    }
    if (!agents.includes(name)) files.remove(name);
  }
}

function takenError(files: UpFiles, host: UpHost): VivError {
  const holder = files.service();
  if (holder === null || host.machine.vitality(holder) === "gone") {
    return new VivError("WORKER_TAKEN", "another viv up is just starting there; try again.");
  }
  const { pid, host: where, config, since } = holder;
  return new VivError(
    "WORKER_TAKEN",
    `viv up runs there already: pid ${pid} on ${where}, since ${since}, with ${config}; stop it first: kill ${pid}`,
    { pid, host: where, config },
  );
}
