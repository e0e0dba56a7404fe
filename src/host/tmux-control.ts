import type { ChildProcess } from "node:child_process";
import { type Tmux, TmuxTrouble, troubleFrom } from "./tmux.ts";

/**
 * A client of tmux in control mode, attached to one session: it tells when a pane has new output,
 * and runs commands at a fraction of what a process for each would cost. It has no size, so it
 * resizes nothing; it does not touch the session's environment (-E); and it ends with us.
 *
 * One that listens is told of all output. tmux waits for it when it does not read, and lets the
 * programs wait that write; but not as long as another client is attached that has no need of it.
 * So nobody may listen alone: a mute one goes with it, and then a pane that the listener is behind
 * with is paused after a second. That concerns what we are told, and nobody else.
 */
export class TmuxControl {
  readonly #child: ChildProcess;
  readonly #limitMs: number;
  readonly #session: string;
  readonly #onOutput: (pane: string) => void;
  readonly #onPaused: (pane: string) => void;
  readonly #onEnd: () => void;
  readonly #waiting: Waiting[] = [];
  #rest = "";
  /** The answer that is being read, and how its last line ends. */
  #answer: { lines: string[]; end: string; isOurs: boolean } | null = null;
  #hasEnded = false;

  constructor(
    tmux: Tmux,
    session: string,
    kind: "mute" | "listening",
    on: { output: (pane: string) => void; paused: (pane: string) => void; end: () => void },
    limitMs = 5_000,
  ) {
    this.#session = session;
    this.#onOutput = on.output;
    this.#onPaused = on.paused;
    this.#onEnd = on.end;
    this.#limitMs = limitMs;
    const flags = ["-f", `ignore-size,${kind === "mute" ? "no-output" : "pause-after=1"}`];
    this.#child = tmux.stay(["-C", "attach-session", "-E", "-t", session, ...flags]);
    this.#child.stdin?.on("error", () => this.#end()); // it is gone
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    this.#child.on("error", () => this.#end());
    this.#child.on("close", () => this.#end());
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** As `Tmux.run`. The words have neither quotes nor line ends in them: ids and formats. */
  run(args: readonly string[]): Promise<string> {
    if (this.#hasEnded) return Promise.reject(noClient());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const seconds = this.#limitMs / 1000;
        reject(new TmuxTrouble("no-answer", `tmux did not answer within ${seconds} s`));
        this.close();
      }, this.#limitMs);
      this.#waiting.push({ resolve, reject, timer });
      this.#child.stdin?.write(`${args.map((arg) => `'${arg}'`).join(" ")}\n`);
    });
  }

  /** Tells no more of this pane, or again. */
  tell(pane: string, what: "pause" | "continue"): void {
    // Whatever comes of it: without it we are told more, or less, than we need.
    this.run(["refresh-client", "-A", `${pane}:${what}`]).catch(() => {});
  }

  close(): void {
    this.#child.kill("SIGKILL"); // asked nicely, it would wait until all was read
    this.#end();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const { reject, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      reject(noClient());
    }
    this.#onEnd();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) if (!this.#hasEnded) this.#take(line);
  }

  #take(line: string): void {
    if (this.#answer !== null) {
      if (line === `%end ${this.#answer.end}`) this.#settle(true);
      else if (line === `%error ${this.#answer.end}`) this.#settle(false);
      else this.#answer.lines.push(line);
      return;
    }
    const [word = "", first = ""] = line.split(" ", 2);
    if (word === "%output" || word === "%extended-output") this.#onOutput(first);
    else if (word === "%begin") {
      const end = line.slice("%begin ".length);
      this.#answer = { lines: [], end, isOurs: end.endsWith(" 1") };
    } else if (word === "%pause") this.#onPaused(first);
    else if (word === "%exit") this.#end();
    else if (word === "%session-changed" && first !== this.#session) this.close();
  }

  #settle(isGood: boolean): void {
    const answer = this.#answer;
    this.#answer = null;
    const waiting = answer?.isOurs ? this.#waiting.shift() : undefined;
    if (answer === null || waiting === undefined) return;
    clearTimeout(waiting.timer);
    const text = answer.lines.join("\n");
    if (isGood) waiting.resolve(text === "" ? "" : `${text}\n`);
    else waiting.reject(troubleFrom(text.trim(), null));
  }
}

interface Waiting {
  resolve: (text: string) => void;
  reject: (error: TmuxTrouble) => void;
  timer: NodeJS.Timeout;
}

const noClient = () => new TmuxTrouble("other", "tmux: the control client has ended");
