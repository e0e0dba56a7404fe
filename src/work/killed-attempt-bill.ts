import type { EngineRoute } from "../engines/config-engine.ts";
import { Bill } from "../engines/costs/bill.ts";
import type { PriceTable } from "../engines/costs/prices.ts";
import { usageLine } from "../engines/costs/usage.ts";
import type { EngineRequest, Step } from "../engines/engine.ts";
import { LineSplitter } from "../platform/processes/line-splitter.ts";
import { isAttempt } from "../queue/attempt.ts";
import type { ReapReport, Store } from "../queue/store.ts";
import type { EngineSession, OpenAttempt } from "./artifacts.ts";
import type { ReadyRoute } from "./attempt.ts";
import type { WorkerHost } from "./host.ts";

export interface Abandoned {
  id: string;
  type: string;
  route: EngineRoute;
  prices: PriceTable;
  /** What its program ran with: where its own files are. */
  env: Readonly<Record<string, string | undefined>>;
}

const LONGEST_LINE_BYTES = 16 * 1024 * 1024;
const LONGEST_STREAM_BYTES = 256 * 1024 * 1024;
const KILLED = { exit: null, signal: "SIGKILL", stderr: "", wasEnded: true };

/**
 * The bill of an attempt whose worker was killed. The ledger has its steps up to then; the rest is in the stream
 * that the worker kept, and in the files that the vendor's program wrote until it ended. All usage is read there
 * once more and recorded as the attempt's `usage`: of that and its steps the larger counts, so nothing counts
 * twice. `isOver`: whether the attempt with this token has ended.
 */
export async function settleAbandoned(
  { id, type, route, prices, env }: Abandoned,
  host: Pick<WorkerHost, "artifacts" | "engine" | "followLogs" | "readEnd">,
  store: Pick<Store, "append">,
  isOver: (token: string) => boolean,
): Promise<boolean> {
  const saved = host.artifacts.readSession(id);
  const open = openIn(saved);
  if (!saved || !open || saved.engine !== route.name || !isOver(open.token)) return false;
  const engine = await host.engine(route.name);
  const { session, model } = saved;
  const request: EngineRequest = {
    ...{ prompt: "", cwd: "/", model, mode: route.mode, turns: null, settings: route.settings },
    resume: open.resume,
    resumeUsed: open.resumeUsed,
  };
  const reader = engine.reader(request);
  const steps = new Bill(prices, model);
  const count = (found: readonly Step[]) => {
    for (const { usage } of found) if (usage) steps.add([usage]);
  };
  const place = engine.logs?.({ session, env, settings: route.settings }) ?? null;
  const logs =
    place && host.followLogs(place, (text, isPast) => count(reader.logLine?.(text, isPast) ?? []));
  await logs?.skipPast(open.logs);
  const lines = new LineSplitter(LONGEST_LINE_BYTES, {
    line: (text) => count(reader.line(text)),
    tooLong: () => {},
  });
  lines.push(Buffer.from(host.readEnd(host.artifacts.streamOf(id), LONGEST_STREAM_BYTES)));
  lines.close();
  await logs?.look(true);
  const { usage, sessionTotal } = reader.end(KILLED);
  const bill = new Bill(prices, model);
  bill.add(usage ?? [], steps);
  const { worker, attempt } = open;
  if (bill.lines.length > 0) {
    const claim = { task: { task_id: id, task_type: type }, worker, token: open.token, attempt };
    const more = { engine: route.name, account: route.account, session, said: "killed" };
    await store.append(usageLine(claim, bill, { ...more, asked: model }));
  }
  const { total, since } = (session === open.resume && open.resumeUsed) || NOT_USED;
  const used = sessionTotal
    ? { total: sessionTotal, since: [] }
    : { total, since: [...since, ...bill.unpriced] };
  host.artifacts.writeSession(id, { engine: route.name, session, model, used });
  return true;
}

/** Records the usage of dead workers' engines as soon as their attempts are over. */
export function settleReaped(
  store: Store,
  host: WorkerHost,
  config: { routeOf: (type: string) => ReadyRoute | undefined; prices: PriceTable },
  onError: (error: unknown) => void,
): (report: ReapReport) => void {
  const settle = async (id: string) => {
    const view = await store.show(id);
    const type = view?.task?.task_type;
    const route = type === undefined ? undefined : config.routeOf(type);
    if (!view || type === undefined || !route?.engine) return;
    const { name } = route.engine;
    const { home } = await host.engine(name);
    const own =
      route.sandbox.length > 0 ? home?.(host.artifacts.sessionsOf(id), route.env).env : {};
    const env = { ...route.env, ...own };
    const over = new Set(view.history.filter(isAttempt).map(({ token }) => token));
    const of = { id, type, route: route.engine, prices: config.prices, env };
    await settleAbandoned(of, host, store, (token) => over.has(token));
  };
  return ({ reaped }) => {
    for (const { id } of reaped) settle(id).catch(onError);
  };
}

/** A file that may have been written by anything. */
function openIn(saved: EngineSession | null): OpenAttempt | null {
  const { open } = saved ?? {};
  const isWhole = typeof open?.token === "string" && typeof open.logs === "object" && open.logs;
  return isWhole ? open : null;
}

const NOT_USED = { total: [], since: [] };
