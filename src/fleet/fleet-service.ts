import { messageOf, VivError } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import type { ConfigRead } from "../work/host.ts";
import type { FleetState, PartState } from "./fleet-files.ts";
import type { FleetEvent, FleetHost } from "./fleet-ports.ts";
import { clearLeftovers, leftoversOf, partsLeftBy } from "./leftovers.ts";
import { type FleetPart, fleetPart } from "./part.ts";
import { isSame, type PartSpec, partsOf, stopsLast } from "./parts.ts";

/** A burst of changes is one write. */
const WRITE_AFTER_MS = 50;
const LOOK_AT_LOCK_MS = 5_000;

/**
 * The supervisor of a run's fleet. It keeps the parts that viv.toml declares running, each restarted
 * by itself, and `state.json` about them. `wanted` is what is declared, `parts` what runs; `reconcile`
 * brings the second to the first, after a change of viv.toml and when a part has ended.
 */
export function fleetService(
  host: FleetHost,
  config: Config | undefined,
  emit: (event: FleetEvent) => void,
  /** Parts that are left out, whatever is declared. */
  without: (spec: PartSpec) => boolean = () => false,
) {
  const { machine, timers, files } = host;
  const now = () => new Date(machine.clock.now()).toISOString();
  const parts = new Map<string, FleetPart>();
  let wanted: PartSpec[] = [];
  let current = config;
  let state: FleetState["state"] = "starting";
  let since = now();
  let note = "";
  let left: PartState[] = [];
  let isTaken = false;
  let isAsked = false;
  let isHasty = false;
  let isGone = false;
  let stopping: Promise<void> | undefined;
  let cancelWrite: (() => void) | undefined;
  let resolveStopped = () => {};
  const stopped = new Promise<void>((resolve) => {
    resolveStopped = resolve;
  });

  const save = () =>
    files.write({
      ...{ ...machine.self(), state, since, run: host.run, note, at_once: isHasty },
      config: current?.file ?? null,
      parts: wantedOrder().map((part) => part.state()),
      left: leftoversOf(left, machine).map(({ part }) => part),
    });
  const writeNow = () => {
    cancelWrite?.();
    cancelWrite = undefined;
    if (!host.hasRun()) return; // it would be made anew, in part
    try {
      save();
    } catch (error) {
      report(error); // the parts go on; only the file is late
    }
  };
  const write = () => {
    if (isTaken) cancelWrite ??= timers.after(WRITE_AFTER_MS, writeNow);
  };
  const become = (next: FleetState["state"]) => {
    state = next;
    since = now();
    writeNow();
  };
  /** As declared; those that are on their way out come last. */
  const wantedOrder = () => {
    const declared = wanted.flatMap(({ name }) => parts.get(name) ?? []);
    return [...declared, ...[...parts.values()].filter((part) => !declared.includes(part))];
  };

  const report = (error: unknown) => emit({ kind: "trouble", message: messageOf(error) });

  const plan = async () => {
    const facts = await host.facts(current);
    const isUseless = (name: string) => parts.get(name)?.state().state === "parked";
    // Another `run` in viv.toml counts from the next start.
    wanted = partsOf({ ...facts, run: host.run }, isUseless).filter((spec) => !without(spec));
  };

  const begin = (spec: PartSpec) => {
    const part = fleetPart(spec, host, () => current, emit, write);
    parts.set(spec.name, part);
    part.start();
    const onOver = async (how: Awaited<FleetPart["over"]>) => {
      if (how === "stopped" && parts.get(spec.name) === part) parts.delete(spec.name);
      if (stopping !== undefined) return;
      // A merge queue may be needed now that a worker is parked.
      if (how === "parked") await plan();
      reconcile();
    };
    part.over.then(onOver).catch(report);
  };

  const reconcile = () => {
    if (stopping !== undefined) return;
    for (const [name, part] of parts) {
      const spec = wanted.find((one) => one.name === name);
      if (spec !== undefined && isSame(part.spec, spec)) continue;
      if (part.state().state === "parked") parts.delete(name);
      else if (!part.isLeaving()) {
        emit({ kind: "leaves", part: name, why: spec === undefined ? "removed" : "changed" });
        void part.stop();
      }
    }
    for (const spec of wanted) if (!parts.has(spec.name)) begin(spec);
    write();
  };

  const takeConfig = async (read: ConfigRead) => {
    if (stopping !== undefined) return;
    if ("problem" in read) {
      const [first = ""] = read.problem.split("\n");
      note = `the last good viv.toml counts: ${first}`;
      const message = `${read.problem}\nthe last good viv.toml still counts; see: viv config check`;
      emit({ kind: "config_bad", note: first, message });
      return write();
    }
    const notes = (await host.facts(read.config)).run === host.run ? [] : [OTHER_RUN];
    current = read.config;
    note = notes.join("; ");
    emit({ kind: "read_anew", file: read.config.file, notes });
    // What could not work before may now.
    for (const [name, part] of parts) if (part.state().state === "parked") parts.delete(name);
    await plan();
    reconcile();
  };
  /** One after the other: the last content counts. */
  let taken = Promise.resolve();
  const onConfig = (read: ConfigRead) => {
    taken = taken.then(() => takeConfig(read)).catch(report);
  };

  const each = (act: (part: FleetPart) => Promise<unknown>, isLast: boolean) =>
    Promise.all([...parts.values()].filter(({ spec }) => stopsLast(spec.kind) === isLast).map(act));
  const stopAll = async () => {
    become("stopping");
    const working = [...parts.values()].filter(
      (part) => part.isBusy() && !stopsLast(part.spec.kind),
    );
    emit({ kind: "draining", working: working.map(({ spec }) => spec.name) });
    await each((part) => part.stop(), false);
    await each((part) => (isHasty ? part.stopNow() : part.stop()), true);
    resolveStopped();
  };
  const stop = async () => {
    isAsked = true;
    if (isTaken) stopping ??= stopAll();
    await stopping;
  };

  const watchLock = (isOurs: () => boolean) => {
    let isStillOurs: () => boolean = isOurs;
    let cancel = () => {};
    const look = async () => {
      if (!isStillOurs()) {
        if (!host.hasRun()) {
          isGone = true;
          emit({ kind: "trouble", message: `the run ${host.run} is gone; viv up stops.` });
          return void stop();
        }
        try {
          const again = await files.take();
          if (again === null) {
            const message = "another viv up has taken this run; this one stops.";
            emit({ kind: "trouble", message });
            return void stop();
          }
          isStillOurs = again;
          writeNow();
        } catch (error) {
          report(error); // as on a full disk: the next look tries again
        }
      }
      cancel = timers.after(LOOK_AT_LOCK_MS, () => void look());
    };
    cancel = timers.after(LOOK_AT_LOCK_MS, () => void look());
    return () => cancel();
  };

  const begins = () => {
    const names = wanted.map(({ name }) => name);
    emit({ kind: "up", pid: machine.self().pid, run: host.run, parts: names });
    const empty = nothingToDo(wanted, current);
    if (empty !== null) emit({ kind: "empty", message: empty });
    reconcile();
    void Promise.all([...parts.values()].map((part) => part.settled)).then(() => {
      if (stopping !== undefined) return;
      become("working");
      emit({ kind: "ready", parts: parts.size, address: addressOf(parts.get("server")) });
    });
  };

  return {
    /** Until it is stopped. Rejects with WORKER_TAKEN when another `viv up` has the run. */
    run: async () => {
      const isOurs = await files.take();
      if (isOurs === null) throw takenError(files.read(), host);
      left = partsLeftBy(files.read());
      await clearLeftovers(left, host, emit);
      save(); // or it does not start: viv ps and viv down find it by this file, and the next start what a crash left
      isTaken = true;
      if (isAsked) void stop(); // while it looked after what was left
      const unwatchLock = watchLock(isOurs);
      const unwatch = host.watchConfig(onConfig);
      try {
        await plan();
        if (stopping === undefined) begins();
        await stopped;
      } finally {
        unwatch();
        unwatchLock();
      }
      become("stopped");
      emit({ kind: "down" });
      if (isGone) throw new VivError("RUN_NOT_FOUND", `the run ${host.run} is gone.`);
    },
    /** All parts finish the work that they have begun. */
    stop,
    /** Begun work is given back. */
    stopNow: async () => {
      void stop();
      if (!isHasty) {
        isHasty = true;
        if (isTaken) writeNow(); // so that no other viv down asks for it
        await each((part) => part.stopNow(), false);
        await each((part) => part.stopNow(), true);
      }
      await stopping;
    },
  };
}

const OTHER_RUN = "run counts from the next start of viv up on";

function addressOf(server: FleetPart | undefined): string | null {
  const doing = server?.state().doing ?? "";
  return /^https?:/.test(doing) ? doing : null;
}

/** What to type next, where no part would ever do or make a task. */
function nothingToDo(wanted: readonly PartSpec[], config: Config | undefined): string | null {
  const doers = ["worker", "crew", "agents", "schedules"];
  if (wanted.some(({ kind }) => doers.includes(kind))) return null;
  const where = config === undefined ? "there is no viv.toml" : `${config.file} has no route`;
  return `${where}, so no worker runs; write [handlers.default], or make a set-up: viv init --template fleet`;
}

function takenError(holder: FleetState | null, { machine }: FleetHost): VivError {
  if (holder === null || machine.vitality(holder) === "gone") {
    return new VivError("WORKER_TAKEN", "another viv up is just starting on this run; try again.");
  }
  const { pid, host, since, state } = holder;
  const message =
    state === "stopping"
      ? `viv up still runs on this run, and has been stopping since ${since}: pid ${pid} on ${host}; wait for it with: viv down`
      : `viv up runs on this run already: pid ${pid} on ${host}, since ${since}; look with: viv ps, stop it with: viv down`;
  return new VivError("WORKER_TAKEN", message, { pid, host });
}
