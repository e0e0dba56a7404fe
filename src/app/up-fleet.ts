import { messageOf, VivError } from "../base/errors.ts";
import { parseRecord } from "../base/json.ts";
import { asLine } from "../fleet/fleet-cli.ts";
import { entryOf } from "../fleet/fleet-ledger.ts";
import { isRunning } from "../fleet/fleet-operations.ts";
import { type FleetEvent, fleetPort } from "../fleet/fleet-ports.ts";
import { fleetService } from "../fleet/fleet-service.ts";
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
import { fleetHost } from "./fleet-host.ts";
import { noteRun } from "./note-run.ts";
import { openRun } from "./open-run.ts";

interface UpGiven {
  no_server?: boolean;
}

/** `viv up` on a run: its supervisor, until it is stopped. */
export async function* superviseFleet(
  context: Context,
  place: RunPlace,
  { no_server = false }: UpGiven,
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
      const without = ({ kind }: { kind: string }) => no_server && kind === "server";
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

/** Long enough for a slow machine; then it is left to itself, and `viv ps` shows how it goes on. */
const READY_WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 50;

/** Starts the supervisor in the background. Returns when it is ready, or throws the reason. */
export async function* detachFleet(
  context: Context,
  place: RunPlace,
  { no_server = false }: UpGiven,
): AsyncGenerator<Stamped<FleetEvent>, Nothing> {
  const { filesIn, machine, timers, detach, addressIn } = await context.use(fleetPort);
  const store = await openMeant(context, place);
  const run = store.folder;
  await store.close();
  const files = filesIn(run);
  const flags = [`--run=${run}`, "--json", ...(no_server ? ["--no-server"] : [])];
  const start = detach(files.startLogPath, ["up", ...flags]);
  let end: { status: number | null; stderr: string } | undefined;
  void start.ended.then((found) => {
    end = found;
  });
  const giveUpAt = machine.clock.uptime() + READY_WITHIN_MS / 1000;
  for (;;) {
    if (end !== undefined) throw failedStart(end);
    const state = files.read();
    const isOurs = state?.pid === start.pid && state !== null && isRunning(state, machine);
    const isLate = machine.clock.uptime() > giveUpAt;
    if (isOurs && (state.state !== "starting" || isLate)) break;
    if (isLate || context.signal.aborted) {
      start.leave();
      throw new VivError("LOCKED", `viv up (pid ${start.pid}) is not ready yet; look with: viv ps`);
    }
    await new Promise<void>((resolve) => void timers.after(LOOK_AGAIN_MS, resolve));
  }
  start.leave();
  const at = new Date(context.now()).toISOString();
  const address = addressIn(run);
  yield { kind: "detached", at, pid: start.pid ?? 0, address, log: files.logPath };
  return {};
}

/** With its own error, which it wrote as the last line. */
function failedStart({ status, stderr }: { status: number | null; stderr: string }): VivError {
  const last = stderr.trimEnd().split("\n").at(-1) ?? "";
  const error = parseRecord(last)?.error as { code?: string; message?: string } | undefined;
  const message = error?.message ?? (last || `it ended with ${status}`);
  const code = error?.code as VivError["code"] | undefined;
  try {
    return new VivError(code ?? "UNSUPPORTED", message);
  } catch (cause) {
    return new VivError("UNSUPPORTED", messageOf(cause));
  }
}
