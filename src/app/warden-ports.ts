import { randomBytes, randomInt } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { crewSection } from "../crew/config.ts";
import { engineFor } from "../engines/config-engine.ts";
import { keepSealed } from "../ledger/keep-sealed.ts";
import { ledgerFolderIn } from "../ledger/room-ledger.ts";
import { assertTrusted, refuse } from "../platform/files/owned.ts";
import { findUp } from "../platform/files/search-up.ts";
import { stateFolder } from "../platform/files/state-files.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { ancestorsOf } from "../platform/processes/proc-fs.ts";
import { newNonce } from "../warden/question.ts";
import type { WardenPorts } from "../warden/warden-host.ts";
import { entryOf } from "../warden/warden-ledger.ts";
import type { TargetKind } from "../warden/warrant.ts";
import { OUTBOX } from "./outbox-places.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The machine as the warden's operations need it. */
export async function wardenPorts(env: Env, cwd: string): Promise<WardenPorts> {
  const [{ wardenFilesIn }, { wardenDirectory }] = await Promise.all([
    import("../warden/warden-files.ts"),
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
    findCrew: () => findUp(".crew", cwd, env, ({ path, why }) => refuse(path, why)),
    bind: async ({ kind, target, socket }) => {
      if (kind === "pid") {
        return (await import("../warden/suspects/process-suspect.ts")).bindPid(target, machine);
      }
      return (await import("../warden/suspects/session-suspect.ts")).bindSession(target, socket, {
        env,
      });
    },
    look: async (warrant, files) => {
      const [{ suspectsFor }, { resolveTarget }, { seenBy }] = await Promise.all([
        import("../warden/suspects/find-suspects.ts"),
        import("../warden/resolve.ts"),
        import("../warden/suspects/seen.ts"),
      ]);
      const resolve = (kind: TargetKind, name: string, home: string | null) =>
        resolveTarget(lookup, kind, name, home);
      return seenBy(suspectsFor({ machine, files, env, resolve }), warrant);
    },
    ancestors: () => ancestorsOf(process.pid),
    wardenOf: (question) => {
      try {
        const folder = dirname(realpathSync(question));
        return basename(folder) === "questions" ? dirname(folder) : null;
      } catch {
        return null; // there is no question
      }
    },
    newId,
    service: async (options, emit) => {
      const files = wardenFilesIn(options.state);
      const [{ Warden }, { ruleWatch }, { suspectsFor }, { requesterNotifier }] = await Promise.all(
        [
          import("../warden/warden.ts"),
          import("../warden/rule-watch.ts"),
          import("../warden/suspects/find-suspects.ts"),
          import("../warden/notify-requester.ts"),
        ],
      );
      const { requesterOutbox } = await import("./warden-outbox.ts");
      const [{ activityOn }, { timers }, { resolveTarget }, { reapClaims }, { usedOn }] =
        await Promise.all([
          import("../warden/suspects/tmux-sessions.ts"),
          import("../platform/processes/children.ts"),
          import("../warden/resolve.ts"),
          import("../warden/finish-dance.ts"),
          import("../engines/costs/usage.ts"),
        ]);
      const { whyNoTmux } = await import("../platform/tmux/tmux.ts");
      const { config, cwd, budgetFor } = options;
      const { hook, webhook, ask, tmuxSocket: socket } = config;
      const shared = { machine, timers, files };
      const resolve = (kind: TargetKind, name: string, home: string | null) =>
        resolveTarget(lookup, kind, name, home);
      const rules = ruleWatch(
        config,
        {
          ...{ ...shared, ...lookup, newId, budgetFor },
          sessionsOn: (socket) => activityOn(socket, env),
          usdOn: (line) => usedOn(line).reduce((sum, used) => sum + (used.usd ?? 0), 0),
          writtenAt: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null,
        },
        emit,
      );
      const outbox = requesterOutbox({
        ...{ folder: join(options.state, OUTBOX.warden), hook, webhook, cwd, env },
        clock: machine.clock,
        onError: (what) => emit({ kind: "trouble", what }),
      });
      const warden = new Warden(
        config,
        {
          ...shared,
          suspects: suspectsFor({ machine, files, env, resolve, ask, socket }),
          newNonce: () => newNonce((below) => randomInt(below)),
          notify: requesterNotifier({ inbox: join(options.state, "inbox"), ...outbox }),
          reap: (receipt) => reapClaims(receipt, files.folder, open),
        },
        (event) => {
          emit(event);
          const entry = entryOf(event, files.folder);
          if (entry !== null) files.record(machine.clock.now(), entry);
          if (event.kind !== "up") return;
          rules.start(); // not before the pool has its folder
          outbox.start();
          void whyNoTmux(env).then((why) => {
            if (why === null) return;
            emit({ kind: "trouble", what: `sessions are neither seen nor asked: ${why}` });
          });
        },
      );
      const warn = (what: string) => emit({ kind: "trouble", what });
      const sealer = keepSealed(ledgerFolderIn(files.folder), { now: machine.clock.now, warn });
      const end = async () => {
        await sealer.stop();
        await rules.stop();
        await outbox.stop();
      };
      return { stop: () => warden.stop(), run: () => warden.run().finally(end) };
    },
  };
}
