import { randomBytes, randomInt } from "node:crypto";
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { assertTrusted } from "../files/owned.ts";
import { ancestorsOf } from "../host/ancestors.ts";
import { localMachine } from "../host/machine.ts";
import { readEnd } from "../host/texts.ts";
import { newNonce } from "../model/question.ts";
import type { TargetKind } from "../model/warrant.ts";
import type { WardenPorts } from "../ops/warden/ports.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Warrants, dogs and who keeps them, on this machine. Apart from main.ts, so that who only looks at
 * the queue does not pay for loading the stores.
 */
export async function wardenPorts(env: Env, cwd: string): Promise<WardenPorts> {
  const [{ stateFolder }, { wardenFilesIn }, { crewFilesIn }, { upFilesIn }] = await Promise.all([
    import("../host/accounts.ts"),
    import("../host/warden-files.ts"),
    import("../host/crew-files.ts"),
    import("../host/up-files.ts"),
  ]);
  const machine = localMachine();
  const open = async (path: string, options = {}) =>
    (await import("../main.ts")).openRun(path, options);
  const forReading = (path: string) => open(path, { readOnly: true });
  const homes = { machine, openRun: forReading, crewFilesIn, upFilesIn };
  const newId = () => `w-${Date.now().toString(36)}-${randomBytes(2).toString("hex")}`;
  return {
    machine,
    defaultState: join(stateFolder(env, cwd), "warden"),
    filesIn: (state) => {
      assertTrusted(state); // a warrant from there may end a process
      return wardenFilesIn(state);
    },
    openRun: forReading,
    crewFilesIn,
    upFilesIn,
    isThere: existsSync,
    bind: async ({ kind, target, socket }) => {
      if (kind === "pid") {
        return (await import("../host/process-suspect.ts")).bindPid(target, machine);
      }
      return (await import("../host/session-suspect.ts")).bindSession(target, socket, { env });
    },
    ancestors: () => ancestorsOf(process.pid),
    wardenOf: (question) => {
      try {
        const folder = dirname(realpathSync(question));
        return basename(folder) === "questions" ? dirname(folder) : null;
      } catch {
        return null; // nobody asks
      }
    },
    newId,
    readEnd,
    service: async (options, tell) => {
      const files = wardenFilesIn(options.state);
      const [{ WardenUp }, { suspectsFor }, { requestersBy }, { activityOn }, { timers }] =
        await Promise.all([
          import("../services/warden/up.ts"),
          import("../host/warden-suspects.ts"),
          import("../host/requester.ts"),
          import("../host/tmux-activity.ts"),
          import("../host/children.ts"),
        ]);
      const { resolveTarget } = await import("../services/warden/resolve.ts");
      const resolve = (kind: TargetKind, name: string, home: string | null) =>
        resolveTarget(homes, kind, name, home);
      const { hook, webhook } = options;
      const requesters = requestersBy({
        ...{ inbox: join(options.state, "inbox"), cwd: options.cwd, env },
        ...(hook === undefined ? {} : { hook }),
        ...(webhook === undefined ? {} : { webhook }),
      });
      return new WardenUp(
        options,
        {
          ...{ machine, timers, files, newId, openRun: forReading, crewFilesIn, resolve },
          suspects: suspectsFor({ machine, files, env, resolve, ask: options.ask }),
          newNonce: () => newNonce((below) => randomInt(below)),
          openForReaping: (path) => open(path),
          tellRequester: (receipt) => requesters.tell(receipt),
          tellHeld: (notice) => requesters.tellHeld(notice),
          sessionsOn: (socket) => activityOn(socket, env),
          writtenAt: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null,
        },
        tell,
      );
    },
  };
}
