import type { Machine } from "../base/clock.ts";
import type { Gate, GateView } from "../gate/gate.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { CrewFiles } from "./files.ts";

const SHOW_EVERY_MS = 100;

/** `gate.json` in the state folder: the crew's gate for `viv gate`, written at most ten times a second. */
export class GateFile {
  readonly #gate: Gate;
  readonly #host: { machine: Machine; timers: Timers; files: CrewFiles };
  readonly #warn: (message: string) => void;
  #cancel: (() => void) | null = null;
  #written = "";

  constructor(
    gate: Gate,
    host: { machine: Machine; timers: Timers; files: CrewFiles },
    warn: (message: string) => void,
  ) {
    this.#gate = gate;
    this.#host = host;
    this.#warn = warn;
    gate.onChange(() => this.#writeSoon());
  }

  write(): void {
    this.#cancel?.();
    this.#cancel = null;
    const { machine, files } = this.#host;
    const { view, text } = viewed(this.#gate);
    if (text === this.#written) return;
    try {
      files.writeJson("gate", { ...view, at: machine.clock.now(), ...machine.self() });
      this.#written = text;
    } catch (error) {
      this.#warn((error as Error).message);
    }
  }

  #writeSoon(): void {
    // A slot that was taken and given back in one moment leaves nothing to write.
    if (this.#gate.isIdle() && viewed(this.#gate).text === this.#written) {
      this.#cancel?.();
      this.#cancel = null;
    } else {
      this.#cancel ??= this.#host.timers.after(SHOW_EVERY_MS, () => this.write());
    }
  }
}

/** The text differs when there is something new to write. */
function viewed(gate: Gate): { view: GateView; text: string } {
  const view = gate.view();
  // Readers compute waiting times from `since`.
  const queue = view.queue.map(({ waiting_ms: _, ...rest }) => rest);
  return { view, text: JSON.stringify({ ...view, queue }) };
}
