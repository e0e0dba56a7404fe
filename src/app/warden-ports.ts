import { randomBytes, randomInt } from "node:crypto";
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { crewSection } from "../crew/settings.ts";
import { engineFor } from "../engines/config-engine.ts";
import { assertTrusted } from "../platform/files/owned.ts";
import { readEnd } from "../platform/files/texts.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { ancestorsOf } from "../platform/processes/proc-fs.ts";
import type { WardenPorts } from "../warden/operations/ports.ts";
import { newNonce } from "../warden/question.ts";
import type { TargetKind } from "../warden/warrant.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The machine as the warden's operations need it.
 */
export async function wardenPorts(env: Env, cwd: string): Promise<WardenPorts> {
  const [{ stateFolder }, { wardenFilesIn }, { wardenDirectory }] = await Promise.all([
    import("../engines/accounts/account-files.ts"),
    import("../warden/files.ts"),
    import("./warden-directory.ts"),
  ]);
  const machine = localMachine();
  const open = async (path: string, options = {}) =>
    (await import("./open-run.ts")).openRun(path, options);
  const forReading = (path: string) => open(path, { readOnly: true });
  const directory = wardenDirectory(machine.clock);
  const lookup = { machine, openRun: forReading, directory };
  const newId = () => `w-${Date.now().toString(36)}-${randomBytes(2).toString("hex")}`;
  return {
    machine,
    defaultState: join(stateFolder(env, cwd), "warden"),
    filesIn: (state) => {
      assertTrusted(state); // a warrant from there may end a process
      return wardenFilesIn(state);
    },
    openRun: forReading,
    directory,
    crewState: (config) => config.section(crewSection)?.state,
    budgetFor: (config, type) => {
      const engine = engineFor(config, type);
      if (engine?.taskBudget.usd !== undefined) return { usd: engine.taskBudget.usd, of: "task" };
      return engine?.budget.usd === undefined ? null : { usd: engine.budget.usd, of: "attempt" };
    },
    isThere: existsSync,
    bind: async ({ kind, target, socket }) => {
      if (kind === "pid") {
        return (await import("../warden/suspects/process-suspect.ts")).bindPid(target, machine);
      }
      return (await import("../warden/suspects/session-suspect.ts")).bindSession(target, socket, {
        env,
      });
    },
    ancestors: () => ancestorsOf(process.pid),
    wardenOf: (question) => {
      try {
        const folder = dirname(realpathSync(question));
        return basename(folder) === "questions" ? dirname(folder) : null;
      } catch {
        return null; // no warden asked
      }
    },
    newId,
    readEnd,
    service: async (options, emit) => {
      const files = wardenFilesIn(options.state);
      const [{ WardenUp }, { suspectsFor }, { requesterNotifier }, { activityOn }, { timers }] =
        await Promise.all([
          import("../warden/up.ts"),
          import("../warden/suspects/find-suspects.ts"),
          import("../warden/notify-requester.ts"),
          import("../warden/suspects/tmux-sessions.ts"),
          import("../platform/processes/children.ts"),
        ]);
      const [{ resolveTarget }, { usedOn }] = await Promise.all([
        import("../warden/resolve.ts"),
        import("../engines/costs/usage-line.ts"),
      ]);
      const resolve = (kind: TargetKind, name: string, home: string | null) =>
        resolveTarget(lookup, kind, name, home);
      const { hook, webhook, cwd } = options;
      const inbox = join(options.state, "inbox");
      const requesters = requesterNotifier({ inbox, hook, webhook, cwd, env });
      return new WardenUp(
        options,
        {
          ...{ machine, timers, files, newId, openRun: forReading, directory, resolve },
          suspects: suspectsFor({ machine, files, env, resolve, ask: options.ask }),
          newNonce: () => newNonce((below) => randomInt(below)),
          openForReaping: (path) => open(path),
          notifyVerdict: requesters.verdict,
          notifyHeld: requesters.held,
          sessionsOn: (socket) => activityOn(socket, env),
          usdOn: (line) => usedOn(line).reduce((sum, used) => sum + (used.usd ?? 0), 0),
          writtenAt: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null,
        },
        emit,
      );
    },
  };
}
