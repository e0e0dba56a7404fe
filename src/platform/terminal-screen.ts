/**
 * A terminal that a program draws on as a whole. Modes:
 * - closed: as the shell left it;
 * - open: on the alternate screen, without a cursor, each key at once and unseen.
 * It is closed by `close`, at the end of the process in whichever way it ends but kill -9, and while
 * the process is stopped (Ctrl-Z, SIGTSTP); SIGCONT opens it again.
 */

interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}

const ESC = "\u001b";
/** The alternate screen, no cursor, lines that are too long are cut. */
const ENTER = `${ESC}[?1049h${ESC}[?25l${ESC}[?7l${ESC}[2J`;
/** Also the end of held output: a process may end in the middle of a frame. */
const LEAVE = `${ESC}[?2026l${ESC}[0m${ESC}[?7h${ESC}[?25h${ESC}[?1049l`;

export class TerminalScreen {
  readonly #terminal: Terminal;
  #isOpen = false;
  #undo: (() => void)[] = [];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  get size(): { columns: number; rows: number } {
    const { columns, rows } = this.#terminal.stdout;
    return { columns: columns || 80, rows: rows || 24 };
  }

  open(on: { input: (text: string) => void; resize: () => void; resume: () => void }): void {
    const { stdin, stdout } = this.#terminal;
    const decoder = new TextDecoder();
    const input = (bytes: Buffer) => on.input(decoder.decode(bytes, { stream: true }));
    const leave = () => this.#leave();
    const stopped = () => this.suspend();
    const resumed = () => {
      this.#enter();
      on.resume();
    };
    stdin.on("data", input);
    stdout.on("resize", on.resize);
    process.on("exit", leave);
    process.on("SIGTSTP", stopped);
    process.on("SIGCONT", resumed);
    this.#undo = [
      () => stdin.off("data", input),
      () => stdout.off("resize", on.resize),
      () => process.off("exit", leave),
      () => process.off("SIGTSTP", stopped),
      () => process.off("SIGCONT", resumed),
    ];
    this.#enter();
  }

  write(text: string): void {
    if (this.#isOpen) this.#terminal.stdout.write(text);
  }

  /** SIGSTOP, because SIGTSTP is ours; `fg` sends SIGCONT. */
  suspend(): void {
    this.#leave();
    process.kill(process.pid, "SIGSTOP");
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
    this.#leave();
    this.#terminal.stdin.pause();
  }

  #enter(): void {
    const { stdin, stdout } = this.#terminal;
    if (this.#isOpen) return;
    this.#isOpen = true;
    stdin.setRawMode(true);
    stdin.resume();
    stdout.write(ENTER);
  }

  #leave(): void {
    const { stdin, stdout } = this.#terminal;
    if (!this.#isOpen) return;
    this.#isOpen = false;
    stdout.write(LEAVE); // written at once: a terminal is
    stdin.setRawMode(false);
  }
}
