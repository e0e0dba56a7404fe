import { messageOf } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import { counted } from "../base/text.ts";
import { pricesSection } from "../engines/costs/config-costs.ts";
import type { PartEvent } from "../fleet/part-news.ts";
import type { PartKind } from "../fleet/parts.ts";
import { scheduleSection } from "../fleet/schedule/config.ts";
import { schedulePort } from "../fleet/schedule/operations.ts";
import { notifySection } from "../notify/config.ts";
import type { Context } from "../operation/operation.ts";
import { pause, untilAborted } from "../platform/machine-retry.ts";
import { Reaper } from "../queue/reaper.ts";
import type { ReapReport, Store } from "../queue/store.ts";
import { routesSection } from "../work/config-route.ts";

/** Runs until the signal is aborted. */
type Clock = (
  config: () => Config | undefined,
  emit: (event: PartEvent) => void,
  signal: AbortSignal,
) => Promise<void>;

const REAP_EVERY_MS = 1_000;

/** The small parts of a fleet, which run in its supervisor. */
export function clocks(context: Context, store: Store): Record<PartKind, Clock> {
  const none: Clock = async () => {
    throw new Error("it is no clock");
  };
  return {
    ...{ worker: none, merge: none, crew: none, warden: none, agents: none, server: none },
    reaper: (config, emit, signal) => reap(context, store, config, emit, signal),
    schedules: async (config, emit, signal) => {
      const read = config();
      if (read === undefined) return untilAborted(signal);
      const { runSchedules } = await import("../fleet/schedule/schedule-clock.ts");
      const { scheduleFilesIn } = await import("../fleet/schedule/schedule-files.ts");
      const { folderOf, readText } = await context.use(schedulePort);
      const files = scheduleFilesIn(store.folder, folderOf(store));
      const host = { store, files, folder: read.folder, readText, now: context.now };
      await runSchedules(read.section(scheduleSection), host, emit, signal, pause);
    },
    notifications: async (config, emit, signal) => {
      const { notifyBeside } = await import("./notify-beside.ts");
      const here = { ...context.here, config: config() };
      const doing = counted(config()?.section(notifySection).length ?? 0, "target");
      let isWell = true;
      const onError = (message: string) => {
        isWell = false;
        emit({ kind: "trouble", doing, message });
      };
      const onWell = () => emit({ kind: "well", doing });
      const beside = await notifyBeside("up", { ...context, here }, store, onError, true, onWell);
      if (isWell) onWell();
      await untilAborted(signal);
      await beside.stop();
    },
  };
}

/** Also while no worker runs. A pass that fails is reported, and the next one comes all the same. */
async function reap(
  context: Context,
  store: Store,
  config: () => Config | undefined,
  emit: (event: PartEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const onError = (error: unknown) => emit({ kind: "trouble", message: messageOf(error) });
  const reaper = new Reaper(store, {
    everyMs: REAP_EVERY_MS,
    onReaped: (report) => {
      for (const { worker, id, to, reason } of report.reaped) {
        emit({ kind: "reaped", id, worker, to, reason });
      }
      settleBills(context, store, config(), report, onError).catch(onError);
    },
  });
  let said = "";
  const say = (event: PartEvent) => {
    const text = String(event.message ?? "");
    if (text !== said || event.doing !== undefined) emit(event);
    said = text;
  };
  say({ kind: "well", doing: "takes back the claims of dead workers" });
  while (!signal.aborted) {
    try {
      await reaper.runOnce();
      say({ kind: "well" });
    } catch (error) {
      say({ kind: "trouble", message: messageOf(error) });
    }
    await pause(REAP_EVERY_MS, signal);
  }
}

/** As a worker does: what a killed attempt has used is read from the files of its engine. */
async function settleBills(
  { here }: Context,
  store: Store,
  config: Config | undefined,
  report: ReapReport,
  onError: (error: unknown) => void,
): Promise<void> {
  if (config === undefined) return;
  const routes = [...config.section(routesSection).values()];
  if (!routes.some(({ engine }) => engine !== undefined)) return;
  const [{ settleReaped }, { workerHost }, { routeFromConfig }] = await Promise.all([
    import("../work/killed-attempt-bill.ts"),
    import("./worker-host.ts"),
    import("../work/ready-route.ts"),
  ]);
  const host = await workerHost(store.folder, here.env, here.cwd);
  const find = (type: string) => routeFromConfig(config, host, type);
  settleReaped(store, host, find, config.section(pricesSection), onError)(report);
}
