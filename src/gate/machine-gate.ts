import type { Machine } from "../base/clock.ts";
import type { Priority } from "../base/priority.ts";
import type { GateRequest, Release } from "./gate.ts";
import { inOrder, mayEnter, roomFor } from "./order.ts";
import type { GateFiles, LockedGate, NewTicket, Ticket } from "./ticket-files.ts";

/**
 * One gate for all processes of the user on this machine. Each change under the lock ends by letting
 * in the next waiters, so that a later request is not faster. Waiters watch the folder; once a second
 * they also look for dead processes, which no notification reports.
 */
export interface MachineGate {
  /** As `Gate.acquire`. Without a maximum it costs one look, and no ticket. */
  acquire(request: GateRequest): Promise<Release>;
  /** Null: no limit, also for waiters. Holders are never stopped. */
  setMax(max: number | null): Promise<void>;
  view(): MachineGateView;
  /** Free slots; null: no limit. Cheap enough for each claim; dead processes hold nothing. */
  room(): number | null;
}

export interface MachineGateView {
  max: number | null;
  holders: { name: string; since: string; pid: number }[];
  queue: { name: string; priority: Priority; since: string; waiting_ms: number; pid: number }[];
  /** Why its `max` cannot be used. */
  trouble?: string;
}

interface Waiter {
  ticket: Ticket;
  enter(): void;
  fail(error: unknown): void;
}

/** `lookEveryMs`: how often waiters look without a notification. */
export function machineGate(files: GateFiles, machine: Machine, lookEveryMs = 1_000): MachineGate {
  const waiters = new Set<Waiter>();
  let stopWatching: (() => void) | undefined;

  const uptimeMs = () => machine.clock.uptime() * 1000;
  const isDead = ({ process }: Ticket) =>
    process.host === "" || machine.vitality(process) === "gone";
  /** Each machine has its own gate, even in a shared home: another machine's processes are unknown. */
  const isAlive = (ticket: Ticket) =>
    !isDead(ticket) && machine.vitality(ticket.process) !== "unknown";

  const waitingOf = (tickets: readonly Ticket[]) =>
    tickets
      .filter(({ heldSince }) => heldSince === null)
      .map((ticket) => ({ ...ticket, ticket, since: ticket.uptime * 1000 }));
  const heldOf = (tickets: readonly Ticket[]) =>
    tickets.filter(({ heldSince }) => heldSince !== null);
  const nextWaiters = (tickets: readonly Ticket[]) => {
    const alive = tickets.filter(isAlive);
    const holders = heldOf(alive).length;
    const { max } = files.max();
    return mayEnter({ waiting: waitingOf(alive), holders, max, now: uptimeMs() });
  };

  /** Under the lock: removes dead tickets, and lets the next waiters in. */
  const settle = (gate: LockedGate) => {
    const tickets = gate.tickets();
    for (const ticket of tickets) if (isDead(ticket)) gate.remove(ticket);
    for (const { ticket } of nextWaiters(tickets)) gate.hold(ticket, machine.clock.now());
  };
  const change = async <T>(act: (gate: LockedGate) => T): Promise<T> => {
    const answer = await files.locked((gate) => {
      const result = act(gate);
      settle(gate);
      return result;
    });
    letOursIn();
    return answer;
  };

  /** The slot is free at once, without the lock; letting in the next one needs it. */
  const release = (id: string) => {
    files.drop(id);
    letNextIn().catch(() => {}); // waiters look once a second anyway
  };
  const letNextIn = async () => {
    if (files.counts().waiting > 0) await change(() => {});
  };
  const letOursIn = () => {
    for (const waiter of [...waiters]) if (files.isHolding(waiter.ticket.id)) waiter.enter();
  };
  /** A holder has died, or has left without letting in the next one. */
  const needsSettling = () => {
    const tickets = files.tickets();
    return tickets.some(isDead) || nextWaiters(tickets).length > 0;
  };
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    try {
      letOursIn();
      for (const waiter of [...waiters]) {
        const { id } = waiter.ticket;
        if (files.isWaiting(id) || files.isHolding(id)) continue;
        // Removed by hand: it joins the end of the line.
        await change((gate) => {
          if (!waiters.has(waiter)) return; // it left while we waited for the lock
          waiter.ticket = gate.add(ticketFor(waiter.ticket.name, waiter.ticket.priority));
        });
      }
      if (waiters.size > 0 && needsSettling()) await change(() => {});
    } catch (error) {
      // A busy lock passes; a disk error does not.
      if ((error as { code?: string }).code === "LOCKED") return;
      for (const waiter of [...waiters]) waiter.fail(error);
    } finally {
      isLooking = false;
    }
  };
  const watchWhileNeeded = () => {
    if (waiters.size > 0 && stopWatching === undefined) {
      const unwatch = files.watch(letOursIn);
      const timer = setInterval(look, lookEveryMs);
      stopWatching = () => {
        clearInterval(timer);
        unwatch();
      };
    } else if (waiters.size === 0) {
      stopWatching?.();
      stopWatching = undefined;
    }
  };

  const ticketFor = (name: string, priority: Priority): NewTicket => ({
    name,
    priority,
    uptime: machine.clock.uptime(),
    since: new Date(machine.clock.now()).toISOString(),
    process: machine.self(),
  });
  const joinLine = async (name: string, priority: Priority): Promise<Ticket> => {
    let added: Ticket | undefined;
    try {
      return await change((gate) => {
        added = gate.add(ticketFor(name, priority));
        return added;
      });
    } catch (error) {
      if (added) files.drop(added.id); // no caller would give back its slot
      throw error;
    }
  };
  const once = (id: string): Release => {
    let isHeld = true;
    return () => {
      if (isHeld) release(id);
      isHeld = false;
    };
  };

  return {
    async acquire({ name, priority = "normal", signal }) {
      signal?.throwIfAborted();
      if (files.max().max === null) return () => {};
      const ticket = await joinLine(name, priority);
      if (signal?.aborted) release(ticket.id);
      signal?.throwIfAborted();
      if (files.isHolding(ticket.id)) return once(ticket.id);
      return new Promise<Release>((resolve, reject) => {
        const leave = () => {
          waiters.delete(waiter);
          signal?.removeEventListener("abort", abort);
          watchWhileNeeded();
        };
        const fail = (error: unknown) => {
          leave();
          files.drop(waiter.ticket.id);
          reject(error);
        };
        const abort = () => {
          leave();
          release(waiter.ticket.id);
          reject(signal?.reason);
        };
        const enter = () => {
          leave();
          resolve(once(waiter.ticket.id));
        };
        const waiter: Waiter = { ticket, enter, fail };
        signal?.addEventListener("abort", abort, { once: true });
        waiters.add(waiter);
        watchWhileNeeded();
        letOursIn(); // it may have been let in before we watched
      });
    },
    setMax: (max) => change((gate) => gate.writeMax(max)),
    view() {
      const { max, trouble } = files.max();
      const alive = files.tickets().filter(isAlive);
      const now = uptimeMs();
      return {
        max,
        holders: heldOf(alive)
          .map(({ name, heldSince, process: { pid } }) => ({ name, since: heldSince ?? "", pid }))
          .sort((a, b) => a.since.localeCompare(b.since)),
        queue: inOrder(waitingOf(alive), now).map(({ ticket, since }) => ({
          ...{ name: ticket.name, priority: ticket.priority, since: ticket.since },
          waiting_ms: Math.max(0, Math.round(now - since)),
          pid: ticket.process.pid,
        })),
        trouble,
      };
    },
    room() {
      const { max } = files.max();
      if (max === null) return null;
      const { holding, waiting } = files.counts();
      if (waiting === 0 && holding < max) return max - holding;
      // Full by the names: only now it matters which of them are alive.
      const alive = files.tickets().filter(isAlive);
      const held = heldOf(alive).length;
      return Math.max(0, roomFor(max, held) - (alive.length - held));
    },
  };
}
