import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import type { Command, Values } from "../operation/command.ts";
import type { Io } from "../operation/io.ts";
import { plain, type Term } from "../operation/term.ts";
import { commands as queueCommands } from "../queue/cli/maintenance.ts";
import { lookAround } from "./templates/look-around.ts";
import {
  agentFor,
  assertRepository,
  ENGINE_CHOICES,
  initTemplate,
  SCRIPT,
  TEMPLATE_NAMES,
  type TemplateName,
  templateInput,
} from "./templates/operations.ts";
import { begunIn } from "./templates/write-plan.ts";

const runInit = queueCommands.init;

/** `viv init`: a run, or, with `--template`, the files of a set-up. */
const initCommand: Command = {
  ...runInit,
  op: { ...runInit.op, input: z.extend(runInit.op.input, templateInput) },
  instead: async (values, io) => {
    if (io !== undefined && isOwnRepository(values, io)) return fleetCommand;
    if (values.template !== undefined) {
      if (values.dir === undefined) return templateCommand;
      throw new VivError(
        "USAGE",
        "--template writes into the current folder; go there first: cd DIR",
      );
    }
    const other = ["engine", "done_when"].find((key) => values[key] !== undefined);
    if (other === undefined) return undefined;
    const flag = `--${other.replaceAll("_", "-")}`;
    throw new VivError("USAGE", `${flag} goes with --template: ${TEMPLATE_NAMES.join(", ")}.`);
  },
  examples: [
    ["viv init", "at the top of your repository: a fleet for viv up; elsewhere: a run"],
    ...runInit.examples,
    ["viv init --template fleet", "agents on this repository: asks, then writes viv.toml"],
    ["viv init --template pit --yes", "asks nothing"],
  ],
};

const templateCommand: Command = {
  op: initTemplate,
  readsConfig: true,
  examples: [],
  ask,
  human: (made: z.output<typeof initTemplate.output>, term) =>
    [
      ...madeLines(made, `a ${made.template}`, term),
      ...made.next.map((line) => `  ${plain(line)}`),
    ].join("\n"),
};

function madeLines(
  { engine, files, finished, warnings = [] }: z.output<typeof initTemplate.output>,
  what: string,
  { color }: Term,
): string[] {
  const made = finished ? "finished what a call before had begun:" : "made";
  const by = engine === null ? "a script, until you have an agent" : engine;
  return [
    `${color.green(made)} ${files.map(plain).join(" ")}`,
    ...warnings.map((warning) => color.yellow(warning)),
    color.dim(`${what}; the work is done by ${by}. Next:`),
  ];
}

/** `viv init` at the top of a repository: what `viv up` runs there. */
const fleetCommand: Command = {
  ...templateCommand,
  defaults: () => ({ template: "fleet" }),
  human: (made: z.output<typeof initTemplate.output>, term) => {
    const { color } = term;
    return [
      ...madeLines(made, "a fleet on this repository", term),
      color.dim("  # a first task"),
      `  ${color.cyan("viv enqueue --jsonl viv/tasks.jsonl")}`,
      color.dim("  # does it, and serves the page; Ctrl-C stops it"),
      `  ${color.cyan("viv up")}`,
    ].join("\n");
  },
};

/** Nothing is named, and nothing is there yet that says which run is meant. */
function isOwnRepository(
  { dir, run, template }: Values,
  { cwd, env }: Pick<Io, "cwd" | "env">,
): boolean {
  if (dir !== undefined || run !== undefined || template !== undefined || env.VIV_RUN) return false;
  if (!existsSync(join(cwd, ".git"))) return false;
  return !["viv.toml", ".viv-run"].some((name) => existsSync(join(cwd, name)));
}

/** On a terminal: the agent and the proof, each with a default. Nothing is written before. */
async function ask(input: Values, io: Io): Promise<Values> {
  const { stdin } = io as { stdin: { isTTY?: boolean } };
  if (input.yes || stdin.isTTY !== true || io.stdout.isTTY !== true) return input;
  const { agents, test, git } = await lookAround(io.cwd, io.env);
  if (begunIn(io.cwd) !== null) return input; // what was answered then counts
  // No answer would help: a file that is there is kept, and the command says so.
  if (lstatSync(join(io.cwd, "viv.toml"), { throwIfNoEntry: false })) return input;
  assertRepository(input.template as TemplateName, git, io.cwd);
  const questions = new Questions(io);
  const answers = { ...input };
  try {
    if (input.engine === undefined) {
      const found = agents.map(({ name, login }) => (login ? name : `${name} (not logged in)`));
      const first = agentFor(undefined, agents) ?? SCRIPT;
      const installed = found.length > 0 ? `installed: ${found.join(", ")}` : "none is installed";
      const isChoice = (text: string) => ENGINE_CHOICES.some((choice) => choice === text);
      const all = `one of ${ENGINE_CHOICES.join(", ")}`;
      answers.engine = await questions.ask(`Agent (${installed})`, first, isChoice, all);
    }
    const isProven = input.template === "fleet" || input.template === "chain";
    if (isProven && input.done_when === undefined) {
      const from = test === null ? "no tests were found" : `found in ${test.from}`;
      const command = await questions.ask(
        `Command that proves the work (${from})`,
        test?.command ?? "",
      );
      if (command !== "" && command !== test?.command) answers.done_when = command;
    }
    return answers;
  } finally {
    questions.close();
  }
}

/** Questions on a terminal, one line each. Ctrl-C and Ctrl-D end them. */
class Questions {
  readonly #io: Io;
  readonly #lines: AsyncIterator<string>;
  readonly #reader;

  constructor(io: Io) {
    this.#io = io;
    this.#reader = createInterface({ input: io.stdin as unknown as Readable, terminal: false });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  async ask(
    question: string,
    byDefault: string,
    isRight: (text: string) => boolean = () => true,
    what = "",
  ): Promise<string> {
    for (;;) {
      this.#io.stdout.write(
        `${plain(question)}${byDefault === "" ? "" : ` [${plain(byDefault)}]`}: `,
      );
      const answer = (await this.#line()).trim() || byDefault;
      if (isRight(answer)) return answer;
      this.say(`${what}, please`);
    }
  }

  say(remark: string): void {
    this.#io.stdout.write(`  ${remark}\n`);
  }

  async #line(): Promise<string> {
    const { signal } = this.#io;
    const stopped = new Promise<never>((_, reject) => {
      const stop = () => reject(stoppedError("INTERRUPTED"));
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
    });
    const { value, done } = await Promise.race([this.#lines.next(), stopped]);
    if (done) throw stoppedError("USAGE");
    return value;
  }

  close(): void {
    this.#reader.close();
    (this.#io.stdin as unknown as Readable).destroy?.();
  }
}

function stoppedError(code: "INTERRUPTED" | "USAGE"): VivError {
  return new VivError(code, "stopped; nothing was written.");
}

export const commands = { init: initCommand };
