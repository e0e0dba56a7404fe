import { refusePath, translate } from "../base/errno.ts";
import { EXIT_STATUS, isVivError, VivError } from "../base/errors.ts";
import { complaint, type Issue, isMissing } from "../base/issue.ts";
import { isRecord } from "../base/json.ts";
import { suggest } from "../base/names.ts";
import { notifySection } from "../notify/config.ts";
import { type CatalogEntry, familyOf, findCommand, firstWords } from "../operation/catalog.ts";
import type { Command, StreamView, Values } from "../operation/command.ts";
import { type Flag, flagsOf, parseFlags, useFlags } from "../operation/flags.ts";
import type { Io } from "../operation/io.ts";
import {
  type Access,
  accessFor,
  type Context,
  isStream,
  type Operation,
  type Stream,
} from "../operation/operation.ts";
import { plain, screened, termFor } from "../operation/term.ts";
import { storePort } from "../queue/operation.ts";
import { CATALOG } from "./catalog.ts";
import { findConfig, findRun } from "./find-run.ts";
import {
  type Asked,
  isRun,
  type Open,
  openingFor,
  type Provide,
  type Surroundings,
  withContext,
} from "./invoke.ts";

export interface CliIo extends Io {
  open: Open;
  provide: Provide;
  /** The flags of a command, where the build made them. */
  flags?(command: string): readonly Flag[] | undefined;
  /** `viv demo`, which needs more of the machine than a command should. */
  demo(args: readonly string[]): Promise<number>;
}

declare const __VIV_VERSION__: string | undefined;

/** The whole command line. Returns the exit status; never exits by itself. */
export async function runCli(io: CliIo): Promise<number> {
  const json = io.argv.includes("--json");
  // Copied only then: a copy opens stdin, which most commands never read.
  const surroundings = screened(
    io.argv.includes("--no-color") ? { ...io, env: { ...io.env, NO_COLOR: "1" } } : io,
  );
  try {
    return await dispatch(surroundings);
  } catch (error) {
    return reportError(surroundings, error, json);
  }
}

/** `viv --run DIR ls` is `viv ls --run DIR`: the flags before the command, and its words. */
function splitFlags(argv: readonly string[]): { flags: string[]; words: string[] } {
  let i = 0;
  while (i < argv.length && /^(--(run|json|no-color)(=.*)?|-r)$/.test(argv[i] ?? "")) {
    i += /^(--run|-r)$/.test(argv[i] ?? "") ? 2 : 1;
  }
  if (i > 0 && i >= argv.length)
    throw new VivError("USAGE", `${argv[0]} needs a command: viv COMMAND ${argv.join(" ")}`);
  return { flags: argv.slice(0, i), words: argv.slice(i) };
}

const HELP_FLAGS = ["--help", "-h"];

async function dispatch(io: CliIo): Promise<number> {
  const { flags, words } = splitFlags(io.argv);
  const [name, ...args] = words;
  const term = termFor(io, io.stdout);
  const isHelp = name === "help" || name === "--help" || name === "-h";
  const about = isHelp ? args.filter((word) => !word.startsWith("-")) : [];
  if (name === undefined || (isHelp && (about[0] ?? "help") === "help")) {
    const { overview } = await import("../operation/help.ts");
    say(io, overview(CATALOG, term));
    return name === undefined ? 2 : 0;
  }
  if (["version", "--version", "-v", "-V"].includes(name)) {
    say(io, typeof __VIV_VERSION__ === "string" ? __VIV_VERSION__ : "0.0.0-source");
    return 0;
  }
  if (name === "demo") return io.demo([...flags, ...args]);
  if (name === "completion") {
    const { completion } = await import("./completion.ts");
    return completion(io, args);
  }
  if (isHelp) return dispatch({ ...io, argv: [...about, "--help"] });
  const found = findCommand(CATALOG, words);
  if (found === null) {
    // `viv dog pool` is a family in a family.
    const inner = familyOf(CATALOG, `${name} ${args[0]}`);
    const [word, next] = inner.length > 0 ? [`${name} ${args[0]}`, args[1]] : [name, args[0]];
    const family = inner.length > 0 ? inner : familyOf(CATALOG, name);
    if (family.length === 0) throw unknownCommand(name);
    const isFlag = next?.startsWith("-") === true;
    if (isFlag && !args.some((one) => HELP_FLAGS.includes(one))) {
      const names = family.map((one) => `viv ${one.name}`).join(", ");
      throw new VivError("USAGE", `viv ${word} needs a word before ${next}; there are: ${names}`);
    }
    if (next !== undefined && !isFlag) {
      const typed = words.slice(0, 3).filter((one) => !one.startsWith("-"));
      throw unknownCommand(`${word} ${next}`, family, typed.join(" "));
    }
    const { familyHelp } = await import("../operation/help.ts");
    say(io, familyHelp(CATALOG, word, family, term));
    return next === undefined ? 2 : 0;
  }
  const { entry, rest } = found;
  const command = await entry.load();
  const made = io.flags?.(entry.name);
  if (made !== undefined) useFlags(command, made);
  const { values } = await parseFlags(entry.name, command, [...flags, ...rest]);
  if (values.help) {
    const { helpFor } = await import("../operation/help.ts");
    say(io, await helpFor(entry.name, command, term));
    return 0;
  }
  return runCommand(entry.name, command, values, io);
}

/** What people type first, and what it is called here. */
const OTHER_WORDS: Record<string, string> = {
  list: "ls",
  add: "enqueue",
  push: "enqueue",
  submit: "enqueue",
  next: "claim",
  take: "claim",
  done: "complete",
  finish: "complete",
  rm: "cancel",
  delete: "cancel",
  stop: "cancel",
  kill: "cancel",
  log: "logs",
  tail: "logs",
  info: "show",
  get: "show",
  fix: "doctor",
  check: "doctor",
  create: "init",
  new: "init",
  "warden start": "warden up",
  "warrant cancel": "warrant withdraw",
};

function unknownCommand(
  name: string,
  family: readonly CatalogEntry[] = [],
  typed = name,
): VivError {
  const names = family.length > 0 ? family.map((entry) => entry.name) : firstWords(CATALOG);
  const meant = Object.hasOwn(OTHER_WORDS, name)
    ? OTHER_WORDS[name]
    : (suggest(name, names) ?? suggest(typed, names));
  const hint = meant
    ? `did you mean: viv ${meant}?`
    : family.length > 0
      ? `there are: ${names.map((one) => `viv ${one}`).join(", ")}`
      : "see: viv --help";
  return new VivError("USAGE", `there is no command ${JSON.stringify(name)}; ${hint}`);
}

async function runCommand(
  name: string,
  command: Command,
  values: Values,
  io: CliIo,
): Promise<number> {
  const other = await command.instead?.(values, io);
  if (other) return runCommand(name, other, values, io);
  const { run: runFlag, json, help: _, "no-color": __, ...given } = values;
  const { op } = command;
  const start: Values = { ...command.defaults?.(io), ...given };
  const input = json === true ? start : ((await command.ask?.(start, io)) ?? start);
  const parsed = op.input.safeParse(withoutExtras(command, input));
  if (!parsed.success)
    throw await inputError(name, command, parsed.error.issues[0] as Issue, input);
  const access = accessFor(op, parsed.data);
  const asked = await askedFor(command, input, access, runFlag as string | undefined, io);
  const warnings: string[] = [];
  const warn = (sentence: string) => void io.stderr.write(`viv: warning: ${plain(sentence)}.\n`);
  const around: Surroundings = {
    ...{ cwd: io.cwd, env: io.env, now: io.now, urgent: io.urgent },
    ...{ provide: io.provide, open: io.open },
    signal: signalFor(input, io),
    input: () => command.inputFrom?.(input, io) ?? io.stdin,
    warn: (sentence) => void warnings.push(sentence),
  };
  const here = { cwd: io.cwd, env: io.env, config: asked.config };
  await op.check?.({ here, use: (port) => io.provide(port, null) }, parsed.data);
  let output: unknown;
  try {
    output = await withContext(around, asked, async (context, opened) => {
      const data = await asGiven(command, parsed.data, input);
      const created = opened?.isNew && !op.name.endsWith("init") ? opened.location : undefined;
      const notice = created === undefined ? "" : `viv: created run ${plain(created)}\n`;
      // Also without a terminal: on a mistyped path tasks and workers would wait for ever.
      const isWorker = isStream(op) && op.drains;
      if (isWorker) io.stderr.write(notice);
      const named = (value: unknown) =>
        created === undefined || isWorker || !isRecord(value)
          ? value
          : { ...value, created_run: created };
      const beside = await besideIt(op, context, warn);
      const stop = () => beside?.stop();
      const views = { named, hear: beside?.hear };
      const result = isStream(op)
        ? await streamed(command, op, context, data, io, json === true, views).finally(stop)
        : named(await op.run(context, data).finally(stop));
      if (!isWorker && json !== true) io.stderr.write(notice);
      return result;
    });
  } finally {
    for (const sentence of [...warningsIn(output), ...warnings]) warn(sentence);
  }
  if (isStream(op)) return command.exit?.(output, io, input) ?? 0;
  return show(command, withWarnings(output, warnings), input, io, json === true);
}

/** Commands whose news is told while they run. Some go on for long, and viv.toml may be edited meanwhile. */
const NOTIFIES: Readonly<Record<string, "long" | "short">> = {
  ...{ work: "long", up: "long", "crew up": "long", "keeper up": "long", "warden up": "long" },
  ...{ merge: "short", sync: "short", pr: "short" },
};

/** Notifications, where viv.toml asks for some. */
async function besideIt(op: Operation, context: Context, warn: (sentence: string) => void) {
  const { config } = context.here;
  const span = NOTIFIES[op.name];
  if (span === undefined || config === undefined) return null;
  if (span === "short" && config.section(notifySection).length === 0) return null;
  const { notifyBeside } = await import("./notify-beside.ts");
  const store = op.access === undefined ? null : await context.use(storePort);
  return notifyBeside(op.name, context, store, warn, span === "long");
}

async function askedFor(
  command: Command,
  input: Values,
  access: Access | undefined,
  flag: string | undefined,
  io: CliIo,
): Promise<Asked> {
  const runPlace = () => findRun(flag, io);
  if (access === undefined) {
    const config = command.readsConfig ? undefined : await findConfig(io);
    return { config, run: null, runPlace };
  }
  // A look at what a command would make: there need not be a run yet.
  if (command.op.access === "create" && access === "read") {
    const place = await runPlace().catch((error: unknown) => {
      if (isVivError(error, "USAGE")) return null;
      throw error;
    });
    if (place === null || !isRun(place.path)) {
      return { config: place === null ? await findConfig(io) : place.config, run: null, runPlace };
    }
  }
  const isShown = access === "read" && SHOWS.has(command.op.name);
  const find = isShown ? findRunToShow : findRun;
  const found = await find(command.runFrom ? command.runFrom(input, flag) : flag, io);
  const durability = command.durabilityFor?.(input);
  const options = openingFor(
    { ...command.op, access },
    { durability, onDependencyFailed: found.onDependencyFailed },
  );
  return { config: found.config, run: { path: found.path, options }, runPlace };
}

/** Commands that show what is in a run: a bad edit of viv.toml must not hide it. */
const SHOWS: ReadonlySet<string> = new Set([
  ...["ls", "show", "doctor", "why", "status", "report", "tree", "watch", "top", "logs", "costs"],
  ...["ledger tail", "ledger show", "ledger verify", "ledger export"],
]);

async function findRunToShow(flag: string | undefined, io: CliIo) {
  let mistakes: Error | undefined;
  let from = "";
  const note = (file: string, error: Error) => {
    mistakes = error;
    from = file;
  };
  const found = await findRun(flag, io, undefined, note).catch((error: unknown) => {
    throw isVivError(error, "USAGE") ? (mistakes ?? error) : error;
  });
  if (mistakes !== undefined) {
    const line = `viv: warning: ${from} has mistakes and does not count here; see: viv config check`;
    io.stderr.write(`${plain(line)}\n`);
  }
  return found;
}

/** What stops it in order: the first Ctrl-C, or, where that is asked for, the end of its parent. */
function signalFor(input: Values, io: CliIo): AbortSignal {
  if (!input["until-stdin-closes"]) return io.signal;
  const closed = new AbortController();
  io.onStdinClosed(() => closed.abort());
  return AbortSignal.any([io.signal, closed.signal]);
}

async function streamed(
  command: Command,
  op: Stream,
  context: Context,
  input: Values,
  io: CliIo,
  json: boolean,
  { named, hear }: { named: (output: unknown) => unknown; hear?: (event: unknown) => void },
): Promise<unknown> {
  if (op.drains) io.hearUrgent();
  const view: StreamView = json
    ? (command.jsonView?.(io, context, input) ?? { event: (event) => JSON.stringify(event) })
    : (command.view?.(termFor(io, io.stdout), io, context, input) ?? { event: () => null });
  const write = (line: string | null | undefined) => {
    if (line !== null && line !== undefined) say(io, line);
  };
  let failure: unknown;
  try {
    const events = op.stream(context, input);
    for (;;) {
      const { value, done } = await events.next();
      if (!done) hear?.(value);
      write(done ? view.end?.(named(value)) : view.event(value));
      if (done) return value;
    }
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    view.close?.(failure);
  }
}

/** What an operation did all the same: see Warnings of the store. */
function warningsIn(output: unknown): string[] {
  const { warnings = [], tasks = [] } = (output ?? {}) as Warned & { tasks?: unknown };
  const inner = Array.isArray(tasks) ? (tasks as Warned[]) : [];
  return [...warnings, ...inner.flatMap((task) => task?.warnings ?? [])];
}

interface Warned {
  warnings?: string[];
}

function withWarnings(output: unknown, more: readonly string[]): unknown {
  if (more.length === 0 || typeof output !== "object" || output === null) return output;
  if (Array.isArray(output)) return output;
  return { ...output, warnings: [...((output as Warned).warnings ?? []), ...more] };
}

function show(command: Command, output: unknown, input: Values, io: CliIo, json: boolean): number {
  command.after?.(output, input, io);
  const text = json
    ? (command.json ?? JSON.stringify)(output)
    : (command.human?.(output, termFor(io, io.stdout), io) ?? JSON.stringify(output));
  if (text !== "") say(io, text);
  return command.exit?.(output, io, input) ?? 0;
}

/** JSON that was given goes on as it was: the schema's copy would leave out a key __proto__. */
async function asGiven(command: Command, data: Values, input: Values): Promise<Values> {
  const whole = (await flagsOf(command)).filter(({ kind, key }) => kind === "json" && key in input);
  return { ...data, ...Object.fromEntries(whole.map(({ key }) => [key, input[key]])) };
}

function withoutExtras(command: Command, input: Values): Values {
  const extras = Object.keys(command.flags ?? {});
  return Object.fromEntries(Object.entries(input).filter(([key]) => !extras.includes(key)));
}

async function inputError(
  name: string,
  command: Command,
  issue: Issue,
  input: unknown,
): Promise<VivError> {
  const key = String(issue.path[0] ?? "");
  const { name: flag = key, placeholder } =
    (await flagsOf(command)).find((one) => one.key === key) ?? {};
  if (!isMissing(issue, input)) return new VivError("USAGE", `--${flag} ${complaint(issue)}.`);
  if (command.positionals?.some((place) => place.key === key)) {
    const what = NEEDED[key] ?? placeholder;
    const isWarrant = key === "id" && /^(warrant|epitaph)/.test(name);
    const isSchedule = key === "name" && name.startsWith("schedule");
    const subject = isWarrant ? "a warrant" : isSchedule ? "a schedule" : what;
    return new VivError("USAGE", `viv ${name} needs ${subject}: viv ${name} ${placeholder}`);
  }
  return new VivError("USAGE", `viv ${name} needs --${flag}; see: viv ${name} --help`);
}

/** What stands in a place of a command, by its key, in words. */
const NEEDED: Record<string, string> = {
  ...{ id: "a task", ids: "a task", slug: "a task", title: "a title", name: "a member" },
  ...{ warrant: "a warrant", dog: "a dog" },
};

function say(io: CliIo, text: string): void {
  io.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

function reportError(io: CliIo, thrown: unknown, json: boolean): number {
  // A machine error that was not translated on its way here is no bug of ours.
  const error = refusePath(translate(thrown, `running viv ${io.argv[0] ?? ""}`.trim()));
  if (isVivError(error)) {
    if (json) {
      const body = { error: { code: error.code, message: error.message, ...error.details } };
      io.stderr.write(`${JSON.stringify(body)}\n`);
    } else io.stderr.write(`${termFor(io, io.stderr).color.red("viv:")} ${plain(error.message)}\n`);
    return EXIT_STATUS[error.code];
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  if (json) {
    io.stderr.write(`${JSON.stringify({ error: { code: "BUG", message: stack } })}\n`);
    return 70;
  }
  io.stderr.write(`viv: this is a bug in viv, please report it:\n${plain(stack)}\n`);
  return 70;
}
