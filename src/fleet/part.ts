import { messageOf } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import type { Child, ChildEnd } from "../platform/processes/children.ts";
import { describeEnd, lastError } from "./agent-programs.ts";
import type { PartState } from "./fleet-files.ts";
import type { FleetEvent, FleetHost } from "./fleet-ports.ts";
import { afterEvent, doingOf, eventIn, heardState, NO_NEWS, type PartEvent } from "./part-news.ts";
import type { PartSpec } from "./parts.ts";
import { type Death, NEVER_STARTED, type RestartEvent, restartedProcess } from "./supervise.ts";

/** Where another process has its name, its folder or its lock. */
const TAKEN = ["WORKER_TAKEN", "LOCKED"];
const PORT_TAKEN = /^port \d+ is taken/;
const USAGE = 2; // the exit status of wrong usage (SPEC §11)

/** One part of a fleet: its process or clock, restarted by itself, and its line in `state.json`. */
export function fleetPart(
  spec: PartSpec,
  host: FleetHost,
  config: () => Config | undefined,
  emit: (event: FleetEvent) => void,
  /** Its state is another one. */
  onChange: () => void,
) {
  const { name, kind, args } = spec;
  const { clock } = host.machine;
  const now = () => new Date(clock.now()).toISOString();
  let news = NO_NEWS;
  let isStopping = false;
  /** It has worked as configured, so a refusal may pass: a file it needs is being changed. */
  let wasReady = false;
  /** Once its own was taken: 0, then the one it got, so that open pages find it after a restart. */
  let port: number | null = null;
  /** For its name; reported once. */
  let isWaiting = false;
  let state: PartState = {
    ...{ name, kind, state: "starting", process: null, since: now() },
    ...{ restarts: 0, doing: "", note: "" },
  };
  let settle = () => {};
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });

  const change = (given: Partial<PartState>) => {
    const next = { ...state, ...given };
    if (next.state !== state.state) next.since = now();
    state = next;
    if (state.state !== "starting") settle();
    onChange();
  };

  /** Of a part that stops: what it still has to do. */
  const doingNow = () =>
    isStopping && news.atHand.size === 0 && kind !== "merge" ? "" : doingOf(news);

  const onEvent = (event: PartEvent) => {
    news = afterEvent(news, kind, event);
    wasReady = true;
    if (port === 0) port = Number(/:(\d+)$/.exec(news.base)?.[1] ?? 0);
    if (isWaiting) {
      isWaiting = false;
      emit({ kind: "begun", part: name, pid: state.process?.pid ?? null });
    }
    change({
      state: isStopping ? "stopping" : heardState(news),
      doing: doingNow(),
      note: news.note,
    });
    // How a clock stands is in its line of `viv ps`.
    if (event.kind !== "well") emit({ kind: "said", part: name, of: kind, event });
  };

  const startChild = (): Child => {
    news = NO_NEWS;
    if (!host.hasRun()) return NEVER_STARTED; // `viv work` would make it anew
    if (args === null) return host.startClock(kind, config, onEvent);
    const own = port === null ? args : [...args, `--port=${port}`];
    return host.children.start({
      argv: [...host.viv, ...own],
      cwd: host.cwd,
      env: { ...host.env, ...host.handing(config()) },
      logPath: host.files.logOf(name),
      onLine: (line) => {
        const event = eventIn(line);
        if (event !== null) onEvent(event);
      },
    });
  };

  const judge = (end: ChildEnd): Death => {
    if (args === null) return "failed";
    const { code = "", message } = lastError(end);
    if (PORT_TAKEN.test(message)) {
      if (!spec.isPortFree) return "occupied";
      port = 0;
      return "taken";
    }
    if (TAKEN.includes(code)) return "taken";
    return end.exit === USAGE && !wasReady ? "refused" : "died";
  };

  const onRestart = (event: RestartEvent) => {
    switch (event.kind) {
      case "started": {
        const process = args === null ? null : event.child.process; // a clock has none of its own
        change({ state: "starting", process, doing: "", note: "" });
        if (!isWaiting) emit({ kind: "begun", part: name, pid: process?.pid ?? null });
        return;
      }
      case "ended": {
        const { death, end } = event;
        const exit = end.signal ?? end.exit;
        const isTaken = death === "taken" || death === "occupied";
        const note = death === "stopped" ? "" : isTaken ? lastError(end).message : describeEnd(end);
        const isMoving = isTaken && port === 0; // to any port: it has not begun yet
        change({ state: isMoving ? "starting" : "resting", process: null, doing: "", note });
        if (isTaken && !isWaiting) emit({ kind: "waits", part: name, note });
        else if (!isTaken && death !== "stopped") emit({ kind: "gone", part: name, exit, note });
        isWaiting = isTaken;
        return;
      }
      case "restarts":
        if (isWaiting) return;
        change({ restarts: state.restarts + 1 });
        emit({ kind: "restarts", part: name, after_ms: event.afterMs });
        return;
      case "over": {
        if (event.how !== "parked") return change({ state: "stopped", note: "" });
        const note = `${event.why} (${state.note})`;
        change({ state: "parked", note });
        emit({ kind: "parked", part: name, note });
      }
    }
  };

  const time = { clock, timers: host.timers };
  const process = restartedProcess(startChild, judge, time, onRestart);
  return {
    spec,
    /** It was heard, or has ended once. Never rejects. */
    settled,
    /** When it is stopped or parked; never rejects. */
    over: process.over,
    state: () => state,
    isLeaving: () => isStopping,
    isBusy: () => state.state === "working" || news.atHand.size > 0,
    start: () => {
      try {
        process.start();
      } catch (error) {
        emit({ kind: "trouble", part: name, message: messageOf(error) });
      }
    },
    /** Lets it finish what it has begun. */
    stop: () => {
      const isFirst = !isStopping;
      isStopping = true;
      if (isFirst && process.isThere()) change({ state: "stopping", doing: doingNow() });
      return process.stop();
    },
    /** It gives that back. */
    stopNow: () => {
      isStopping = true;
      return process.stopNow();
    },
  };
}

export type FleetPart = ReturnType<typeof fleetPart>;
