import { dirname, join } from "node:path";
import { unlessCorrupt } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import { findCrew } from "../crew/requests.ts";
import { gate } from "../gate/operations.ts";
import type { LedgerSource } from "../ledger/follow.ts";
import { ledgerFolderIn } from "../ledger/room-ledger.ts";
import type { Context } from "../operation/operation.ts";
import { stateFolder } from "../platform/files/state-files.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { Slices } from "../platform/slices.ts";
import { storePort } from "../queue/operation.ts";
import type { Store } from "../queue/store.ts";
import type { GateFacts, ServerHost } from "../server/server-host.ts";
import { wardenPlace } from "../warden/operations/warden-place.ts";
import { recordedIn } from "../work/workspaces/record.ts";
import { activityHere } from "./activity-here.ts";
import { followedRuns } from "./followed-runs.ts";
import { httpOperations, NOT_OVER_HTTP } from "./http-operations.ts";
import { type Provide, withContext } from "./invoke.ts";
import { noteRun } from "./note-run.ts";
import { openRun } from "./open-run.ts";
import type { PortSettings } from "./ports.ts";
import { watchConfig } from "./settings/watch-config.ts";

declare const __VIV_VERSION__: string | undefined;

/** The rooms and the machine, for a server. */
export function serverHost({
  env,
  cwd,
  program,
  machine = localMachine(),
  provide,
}: PortSettings & { provide: Provide }): ServerHost {
  const { follow, provideFor } = followedRuns(provide);
  return {
    ...{ machine, env, state: stateFolder(env, cwd), watchConfig, activity: activityHere },
    version: typeof __VIV_VERSION__ === "string" ? __VIV_VERSION__ : "0.0.0-source",
    pageFolder: join(dirname(program.viv), "web"),
    operations: httpOperations(),
    hidden: NOT_OVER_HTTP,
    ...{ gates: gatesHere, branchesLeft: branchesLeftHere, ledgers: ledgersHere },
    open: async ({ path, onDependencyFailed }, { readOnly }) => {
      const store = await openRun(path, { readOnly, onDependencyFailed });
      noteRun(store.location, env, cwd, machine.clock.now());
      return follow(store);
    },
    invoke: (run, store, { signal, input }, act) => {
      const around = {
        ...{ cwd, env, signal, input, provide: provideFor(store), now: machine.clock.now },
        urgent: signal,
        open: async () => borrowed(store as Store),
        warn: () => {},
      };
      const { path, config } = run;
      const asked = {
        config,
        run: store === null ? null : { path, options: {} },
        runPlace: async () => ({ ...run, from: "the server" }),
      };
      return withContext(around, asked, act);
    },
  };
}

/** It stays open after the request. */
function borrowed(store: Store): Store {
  return { ...store, close: async () => {} };
}

/** A folder that is not there yet is looked for again. */
async function ledgersHere(context: Context): Promise<LedgerSource[]> {
  const { cwd } = context.here;
  const crew = await findCrew(context, undefined).then(
    ({ state }) => state,
    () => join(cwd, ".crew"), // none yet, or not for us to read
  );
  const warden = (await wardenPlace(context)).files.folder;
  return [
    { name: "run", folder: (await context.use(storePort)).ledgerFolder, room: "queue" },
    { name: "crew", folder: ledgerFolderIn(crew), room: "crew" },
    { name: "warden", folder: ledgerFolderIn(warden), room: "warden" },
  ];
}

async function gatesHere(context: Context): Promise<GateFacts[]> {
  const { machine, crew } = await gate.run(context, {});
  const facts = (name: GateFacts["gate"], { max, holders, queue }: typeof machine): GateFacts => ({
    ...{ gate: name, max, used: holders.length, waiting: queue.length },
    longestMs: Math.max(0, ...queue.map(({ waiting_ms }) => waiting_ms)),
  });
  return [facts("machine", machine), ...(crew ? [facts("crew", crew)] : [])];
}

/** As `viv report` counts them; files of what has landed by the ledger are not read. */
async function branchesLeftHere(
  context: Context,
  hasLanded: (task: string) => boolean,
): Promise<number> {
  const store = await context.use(storePort);
  const left = recordedIn(store.workspaces).filter((id) => isName(id) && !hasLanded(id));
  if (left.length === 0) return 0;
  const { landingsIn } = await import("../merge/facts.ts");
  const landings = landingsIn(store);
  const done = new Set(await store.ids("done"));
  const slices = new Slices();
  let count = 0;
  for (const id of left) {
    await slices.rest();
    if (!done.has(id)) continue;
    const isLeft = unlessCorrupt(() => landings.isNotLanded(id)) ?? false;
    if (isLeft && landings.stateOf(id) !== "closed") count++;
  }
  return count;
}
