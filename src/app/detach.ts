import { messageOf, VivError } from "../base/errors.ts";
import { parseRecord } from "../base/json.ts";
import type { FleetEvent, FleetPort } from "../fleet/fleet-ports.ts";
import { fleetPort } from "../fleet/fleet-ports.ts";
import { readAgentsAndPit } from "../fleet/operations.ts";
import { upPort } from "../fleet/up-ports.ts";
import { lingering } from "../fleet/up-service.ts";
import { isRunning } from "../fleet/ups.ts";
import type { Context, Nothing, Stamped } from "../operation/operation.ts";

/** Long enough for a slow machine; then it is left to itself, and `viv ps` shows how it goes on. */
const READY_WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 50;

/**
 * Starts `viv` with these arguments in the background. Returns its pid when its files say that it is
 * ready, or throws the reason why it has ended.
 */
export async function startDetached(
  { signal }: Context,
  { machine, timers, detach }: FleetPort,
  logPath: string,
  args: readonly string[],
  look: (pid: number | null) => "unknown" | "starting" | "ready",
): Promise<number> {
  const start = detach(logPath, args);
  let end: { status: number | null; stderr: string } | undefined;
  void start.ended.then((found) => {
    end = found;
  });
  const giveUpAt = machine.clock.uptime() + READY_WITHIN_MS / 1000;
  for (;;) {
    if (end !== undefined) throw failedStart(end);
    const seen = look(start.pid);
    const isLate = machine.clock.uptime() > giveUpAt;
    if (seen === "ready" || (seen === "starting" && isLate)) break;
    if (isLate || signal.aborted) {
      start.leave();
      throw new VivError("LOCKED", `viv up (pid ${start.pid}) is not ready yet; look with: viv ps`);
    }
    await new Promise<void>((resolve) => void timers.after(LOOK_AGAIN_MS, resolve));
  }
  start.leave();
  return start.pid ?? 0;
}

/** `viv up -c agents.toml --detach`. */
export async function* detachAgents(
  context: Context,
  path: string,
  more: readonly string[],
): AsyncGenerator<Stamped<FleetEvent>, Nothing> {
  const port = await context.use(fleetPort);
  const host = await context.use(upPort);
  const { file, pit } = await readAgentsAndPit(path, context.here, host);
  const files = host.filesIn(pit.path);
  const isStarting = (name: string) => files.agent(name)?.state === "starting";
  const args = ["up", `--config=${file}`, "--json", ...more];
  const pid = await startDetached(context, port, files.startLogPath, args, (pid) => {
    const last = files.service();
    if (last === null || last.pid !== pid || !isRunning(last, host.machine)) return "unknown";
    return last.agents.some(isStarting) ? "starting" : "ready";
  });
  const at = new Date(context.now()).toISOString();
  const { agents = [], left = [] } = files.service() ?? {};
  const down = downIn(agents.flatMap((name) => files.agent(name) ?? []));
  const there = lingering(left, host.machine).map(({ agent, process }) => ({
    part: agent,
    process,
  }));
  yield {
    ...{ kind: "detached", at, pid, address: null, log: files.logPath },
    ...{ ...down, left: stillThere(there) },
  };
  return {};
}

/** It runs, but not all of it: the person who goes away now must hear of that. */
export function downIn(parts: readonly { name: string; state: string; note: string }[]) {
  const those = (wanted: string) =>
    parts.flatMap(({ name, state, note }) =>
      state === wanted && note !== "" ? [{ part: name, note }] : [],
    );
  return { parked: those("parked"), resting: those("resting") };
}

/** As in the answer of `--detach`. */
export function stillThere(left: readonly { part: { name: string }; process: { pid: number } }[]) {
  return left.map(({ part, process }) => ({ part: part.name, pid: process.pid }));
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
