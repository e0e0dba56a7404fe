import type { Machine } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { Child, ChildEnd } from "../platform/processes/children.ts";

/**
 * A clock of this process in the place of a child process, so that it is watched and restarted in the
 * same way. `run` goes on until the signal is aborted; when it ends before that, or rejects, it has died.
 */
export function clockChild(machine: Machine, run: (signal: AbortSignal) => Promise<void>): Child {
  const stopping = new AbortController();
  const finish = async (): Promise<ChildEnd> => {
    const end = { exit: null, signal: null, lastWords: "" };
    await null; // its start is known before its first event
    try {
      await run(stopping.signal);
      return stopping.signal.aborted
        ? { ...end, exit: 0 }
        : { ...end, error: "it ended by itself" };
    } catch (error) {
      return { ...end, error: messageOf(error) };
    }
  };
  const stop = () => stopping.abort();
  return { process: machine.self(), ended: finish(), ask: stop, askAgain: stop, kill: stop };
}
