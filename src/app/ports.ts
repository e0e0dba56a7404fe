import type { Machine } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import type { Patience } from "../board/commit.ts";
import type { boardPort } from "../board/operations.ts";
import type { crewPort } from "../crew/crew-ports.ts";
import type { accountsPort } from "../engines/accounts/accounts.ts";
import type { fleetPort } from "../fleet/fleet-ports.ts";
import type { schedulePort } from "../fleet/schedule/operations.ts";
import type { Program, programPort, upPort, workerCheckPort } from "../fleet/up-ports.ts";
import type { gatePort } from "../gate/operations.ts";
import type { forgePort } from "../merge/forge/forge.ts";
import type { notifyPort } from "../notify/notify-ports.ts";
import type { Ask, askPort } from "../operation/ask.ts";
import type { Env, Port } from "../operation/operation.ts";
import type { ledgersPort } from "../overview/ledger/ledgers.ts";
import type { enginesPort } from "../overview/model-operations.ts";
import type { fleetFactsPort } from "../overview/page/fleet.ts";
import type { runIndexPort } from "../overview/page/index-port.ts";
import type { reportPort } from "../overview/report/report-port.ts";
import type { topPort } from "../overview/top/host.ts";
import type { downWorkersPort } from "../overview/why.ts";
import type { runChecksPort } from "../queue/operations/maintenance.ts";
import type { noRoutePort } from "../queue/operations/tasks.ts";
import type { Store } from "../queue/store.ts";
import type { serverPort } from "../server/server-host.ts";
import type { wardenPort } from "../warden/warden-host.ts";
import type {
  configWatchPort,
  installedPort,
  routeHostPort,
  workerHostPort,
  workspaceUsePort,
} from "../work/host.ts";
import type { runsPort } from "../work/operations/runs.ts";
import { findConfigFile, readConfigFile } from "./find-run.ts";
import type { Provide } from "./invoke.ts";
import type { configFilesPort } from "./settings/operations.ts";
import type { templatePort } from "./templates/operations.ts";

type Of<P> = P extends Port<infer T> ? T : never;

/** Each is made when an operation asks for it: what is not needed is not loaded. */
interface Makers {
  accounts(): Promise<Of<typeof accountsPort>>;
  ask(): Promise<Of<typeof askPort>>;
  board(): Promise<Of<typeof boardPort>>;
  "config watch"(): Promise<Of<typeof configWatchPort>>;
  "config files"(): Promise<Of<typeof configFilesPort>>;
  crew(): Promise<Of<typeof crewPort>>;
  "down workers"(): Promise<Of<typeof downWorkersPort>>;
  engines(): Promise<Of<typeof enginesPort>>;
  fleet(): Promise<Of<typeof fleetPort>>;
  "fleet facts"(): Promise<Of<typeof fleetFactsPort>>;
  forge(): Promise<Of<typeof forgePort>>;
  gate(): Promise<Of<typeof gatePort>>;
  ledgers(): Promise<Of<typeof ledgersPort>>;
  installed(): Promise<Of<typeof installedPort>>;
  notify(): Promise<Of<typeof notifyPort>>;
  program(): Promise<Of<typeof programPort>>;
  "no route"(): Promise<Of<typeof noRoutePort>>;
  "route host"(): Promise<Of<typeof routeHostPort>>;
  schedule(): Promise<Of<typeof schedulePort>>;
  template(): Promise<Of<typeof templatePort>>;
  report(): Promise<Of<typeof reportPort>>;
  top(): Promise<Of<typeof topPort>>;
  "run checks"(): Promise<Of<typeof runChecksPort>>;
  "run index"(store: Store): Promise<Of<typeof runIndexPort>>;
  runs(): Promise<Of<typeof runsPort>>;
  server(): Promise<Of<typeof serverPort>>;
  up(): Promise<Of<typeof upPort>>;
  warden(): Promise<Of<typeof wardenPort>>;
  "worker check"(): Promise<Of<typeof workerCheckPort>>;
  "worker host"(store: Store): Promise<Of<typeof workerHostPort>>;
  "workspace use"(store: Store): Promise<Of<typeof workspaceUsePort>>;
}

export interface PortSettings {
  env: Env;
  cwd: string;
  program: Program;
  /** Hears what is waited for. */
  notice(sentence: string): void;
  /** Without it there is no terminal. */
  ask?: Ask;
  /** Its terminal, if it has one, may be drawn on. */
  ownsTerminal?: boolean;
  /** For tests. */
  machine?: Machine;
  patience?: Patience;
}

/** What the machine offers to operations, by the names of their ports. */
export function portsHere(settings: PortSettings): Provide {
  const { env, cwd, program, notice, machine, patience, ask = async () => null } = settings;
  const worker = () => import("./worker-host.ts");
  const makers: Makers = {
    accounts: async () => (await worker()).accountsHere(env, cwd, machine?.clock.now),
    ask: async () => ask,
    board: async () => {
      const { waitForLock } = await import("../board/commit.ts");
      return (lock) => waitForLock(lock, notice, patience);
    },
    "config watch": async () => (await import("./settings/watch-config.ts")).watchConfig,
    "config files": async () => {
      const { typesIn } = await import("./settings/types-in.ts");
      return { find: () => findConfigFile({ cwd, env }), read: readConfigFile, typesIn };
    },
    "down workers": async () => (await import("./down-workers.ts")).downWorkers,
    crew: async () => (await import("./crew-host.ts")).crewPorts(env, cwd),
    engines: async () => (await worker()).enginesHere(env),
    fleet: async () => (await import("./fleet-host.ts")).fleetPorts(env, cwd, program),
    "fleet facts": async () => (await import("./fleet-facts.ts")).fleetFacts,
    forge: async () => (await import("./forge-host.ts")).forgeHost(env, machine?.clock.now),
    gate: async () => (await worker()).gateHere(env, cwd, machine),
    notify: async () => (await import("./notify-host.ts")).notifyPorts(),
    program: async () => program,
    "no route": async () => (await import("../work/config-route.ts")).noRoute,
    "route host": async () => (await worker()).routeHost(env),
    schedule: async () => (await import("./fleet-host.ts")).schedulePorts(),
    template: async () => (await import("./templates/look-around.ts")).templateHost(cwd, env),
    report: async () => (await import("./report-ports.ts")).reportPorts,
    // A server has one that follows the run.
    "run index": async (store) =>
      (await import("../overview/page/run-index.ts")).RunIndex.read(store),
    "run checks": async () => {
      const { checkRecords } = await import("../merge/check-records.ts");
      const { fleetCheck } = await import("./fleet-host.ts");
      return (store) => async (examination) => {
        await checkRecords(store)(examination);
        await fleetCheck(store.folder)(examination);
      };
    },
    runs: async () => (await import("./runs-host.ts")).runsHere(env, cwd, machine),
    server: async () => (await import("./server-parts.ts")).serverHost({ ...settings, provide }),
    top: async () => (await import("./top-host.ts")).topHost(settings.ownsTerminal),
    up: async () => (await import("./up-host.ts")).upHost(),
    warden: async () => (await import("./warden-ports.ts")).wardenPorts(env, cwd),
    ledgers: async () => (await import("./ledger-host.ts")).otherLedgers,
    installed: async () => {
      const { whyNotInstalled } = await worker();
      return (program) => whyNotInstalled(program, env.PATH);
    },
    "worker check": async () => (await import("../work/operations/work.ts")).checkWorker,
    "worker host": async (store) => (await worker()).workerHost(store.folder, env, cwd),
    "workspace use": async (store) =>
      (await import("../work/workspaces/use.ts")).workspaceUseIn(store.workspaces),
  };
  const provide: Provide = async <T>({ name }: Port<T>, store: Store | null): Promise<T> => {
    const make = (makers as unknown as Record<string, (store: Store | null) => Promise<T>>)[name];
    if (make === undefined) throw new VivError("UNSUPPORTED", `nothing provides the port ${name}.`);
    return make(store);
  };
  return provide;
}
