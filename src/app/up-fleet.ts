import { messageOf } from "../base/errors.ts";
import { asLine } from "../fleet/fleet-cli.ts";
import { entryOf } from "../fleet/fleet-ledger.ts";
import { type FleetEvent, fleetPort } from "../fleet/fleet-ports.ts";
import { fleetService } from "../fleet/fleet-service.ts";
import { leftoversOf } from "../fleet/leftovers.ts";
import { isRunning } from "../fleet/ups.ts";
import { keepSealed } from "../ledger/keep-sealed.ts";
import { recordTo } from "../ledger/room-ledger.ts";
import {
  type Context,
  type Nothing,
  type RunPlace,
  type Stamped,
  serve,
} from "../operation/operation.ts";
import { runSection } from "../queue/config-run.ts";
import type { Store } from "../queue/store.ts";
import { downIn, startDetached, stillThere } from "./detach.ts";
import { fleetHost } from "./fleet-host.ts";
import { noteRun } from "./note-run.ts";
import { openRun } from "./open-run.ts";

interface UpGiven {
  no_server?: boolean;
  no_warden?: boolean;
}

/** `viv up` on a run: its supervisor, until it is stopped. */
export async function* superviseFleet(
  context: Context,
  place: RunPlace,
  { no_server = false, no_warden = false }: UpGiven,
): AsyncGenerator<Stamped<FleetEvent>, Nothing> {
  const store = await openMeant(context, place);
  try {
    const host = await fleetHost(context, place, store);
    const log = host.files.openLog();
    return yield* serve<FleetEvent, Nothing>(context, (emit) => {
      const tell = (event: FleetEvent) => {
        const at = new Date(context.now()).toISOString();
        log.write(Buffer.from(`${asLine({ ...event, at })}\n`));
        emit(event);
        const entry = entryOf(event);
        if (entry === null) return;
        try {
          recordTo(store.ledgerFolder, context.now(), entry);
        } catch (error) {
          // The fleet goes on; only the record lacks the line.
          emit({ kind: "trouble", message: messageOf(error) });
        }
      };
      const without = ({ kind }: { kind: string }) =>
        (no_server && kind === "server") || (no_warden && kind === "warden");
      const service = fleetService(host, place.config, tell, without);
      const sealed = keepSealed(store.ledgerFolder, {
        now: context.now,
        warn: (message) => emit({ kind: "trouble", message }),
      });
      return {
        stop: () => service.stop(),
        stopNow: () => service.stopNow(),
        run: async () => {
          await service.run().finally(() => sealed.stop());
          log.close();
          return {};
        },
      };
    });
  } finally {
    await store.close();
  }
}

async function openMeant({ here, now }: Context, { path, config }: RunPlace): Promise<Store> {
  const onDependencyFailed = config?.section(runSection).onDependencyFailed;
  const store = await openRun(path, { create: true, onDependencyFailed });
  noteRun(store.location, here.env, here.cwd, now());
  return store;
}

/** Starts the supervisor in the background. Returns when it is ready, or throws the reason. */
export async function* detachFleet(
  context: Context,
  place: RunPlace,
  more: readonly string[],
): AsyncGenerator<Stamped<FleetEvent>, Nothing> {
  const port = await context.use(fleetPort);
  const store = await openMeant(context, place);
  const run = store.folder;
  await store.close();
  const files = port.filesIn(run);
  const flags = [`--run=${run}`, "--json", ...more];
  const pid = await startDetached(context, port, files.startLogPath, ["up", ...flags], (pid) => {
    const state = files.read();
    if (state === null || state.pid !== pid || !isRunning(state, port.machine)) return "unknown";
    return state.state === "starting" ? "starting" : "ready";
  });
  const at = new Date(context.now()).toISOString();
  const { parts = [], left = [] } = files.read() ?? {};
  yield {
    ...{ kind: "detached", at, pid, address: port.addressIn(run), log: files.logPath },
    ...{ ...downIn(parts), left: stillThere(leftoversOf(left, port.machine)) },
  };
  return {};
}
