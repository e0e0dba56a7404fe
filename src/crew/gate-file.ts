import type { Gate, GateView } from "../gate/gate.ts";
import type { MemberContext } from "./crew-ports.ts";

const SHOW_EVERY_MS = 100;

/** `gate.json` in the state folder: the crew's gate for `viv gate`, written at most ten times a second. */
export class GateFile {
  readonly #gate: Gate;
  readonly #host: Pick<MemberContext, "machine" | "timers" | "files" | "emit">;
  #cancel: (() => void) | null = null;
  #written = "";

  constructor(gate: Gate, host: Pick<MemberContext, "machine" | "timers" | "files" | "emit">) {
    this.#gate = gate;
    this.#host = host;
    gate.onChange(() => this.#writeSoon());
  }

  write(): void {
    this.#cancel?.();
    this.#cancel = null;
    const { machine, files, emit } = this.#host;
    const { view, text } = viewed(this.#gate);
    if (text === this.#written) return;
    try {
      files.writeJson("gate", { ...view, at: machine.clock.now(), ...machine.self() });
      this.#written = text;
    } catch (error) {
      emit({ kind: "trouble", name: "gate", message: (error as Error).message });
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
