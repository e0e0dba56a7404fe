import type * as z from "zod/mini";
import { formatDuration } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import { type Cell, plain, prose, type Term, table } from "../../operation/term.ts";
import type { Dance, Receipt } from "../dance.ts";
import { wardenCommand } from "../folder.ts";
import {
  dogDances,
  dogStatus,
  type PoolStatus,
  poolAllocate,
  poolRelease,
  poolStatus,
} from "../operations/dogs.ts";
import { warrantScreen } from "../operations/screen.ts";
import type { DanceView } from "../operations/warden-place.ts";
import {
  dogWarrants,
  epitaph,
  type WarrantQueue,
  warrantFile,
  warrantLs,
  warrantShow,
  warrantWithdraw,
} from "../operations/warrants.ts";
import type { SeedRecord } from "../seed-dance.ts";
import type { Warrant } from "../warrant.ts";

const names = { state: "state-dir" };

export const commands = {
  "warrant file": {
    op: warrantFile,
    names: { ...names, reason: "note" },
    positionals: [{ key: "session" }],
    examples: [
      ["viv warrant file agent-1 --note no_progress --by deacon", "a tmux session"],
      ["viv warrant file --pid 4711 --watch out.log", "a process; out.log growing is progress"],
      ["viv warrant file --run ./audit --worker w1", "its claims are released if it is ended"],
      ["viv warrant file --agent moss", "the run of a crew's member"],
    ],
    human: ({ id, filed, target, notes }: z.output<typeof warrantFile.output>, { color }) => {
      const name = color.bold(id);
      const done = filed ? `filed ${name} for ${plain(target)}` : `not filed: ${name} is open`;
      return withNotes(done, notes, color);
    },
  },
  "warrant ls": {
    op: warrantLs,
    names,
    examples: [["viv warrant ls", "active and queued warrants"]],
    human: (output: z.output<typeof warrantLs.output>, term) => {
      const { yellow, dim } = term.color;
      const dances = output.dances.map((one) => [
        ...[plain(one.warrant), yellow(one.state), plain(one.target), prose(plain(one.reason))],
        ...[`by ${plain(one.requester)}`, dim(one.dog)],
      ]);
      const rows = [...dances, ...warrantRows(output, term)];
      const list = rows.length === 0 ? dim("no warrants") : table(rows, term);
      return [list, ...badLines(output, term)].join("\n");
    },
  },
  "warrant show": {
    op: warrantShow,
    names,
    positionals: [{ key: "id" }],
    examples: [["viv warrant show w1", "or the dog that has it"]],
    human: ({ id, state, warrant, dance, receipt, record }: Shown, term) => {
      const { color } = term;
      const { target, kind, reason, requester, filed_at, bound, watch } = warrant;
      const rows: Cell[][] = [
        ["target", `${kind} ${plain(target)}`],
        ["reason", prose(plain(reason))],
        ["by", plain(requester)],
        ["filed", filed_at],
        ...(bound === null ? [] : [["bound to", plain(JSON.stringify(bound))]]),
        ...watch.map((path) => ["watches", plain(path)]),
        ...(dance ? danceRows(dance) : []),
        ...(receipt ? receiptRows(receipt) : []),
        ...(record ? recordRows(record) : []),
      ];
      return `${color.bold(plain(id))}  ${color.yellow(state)}\n${table(rows, term)}`;
    },
  },
  "warrant screen": {
    op: warrantScreen,
    names,
    positionals: [{ key: "id" }],
    examples: [["viv warrant screen w1", "its terminal, or the end of its log, as it is now"]],
    human: (output: z.output<typeof warrantScreen.output>, { color }) => {
      const { source, why, path, lines } = output;
      const head = path === null ? source : `${source} ${plain(path)}`;
      if (source === "none") return color.dim(`nothing to see: ${plain(why ?? "")}`);
      return [color.dim(head), ...lines.map(plain)].join("\n");
    },
  },
  "warrant withdraw": {
    op: warrantWithdraw,
    names,
    positionals: [{ key: "id" }],
    examples: [["viv warrant withdraw w1", "stop asking the target"]],
    human: (output: z.output<typeof warrantWithdraw.output>, { color }) => {
      const { id, target, withdrawn, notes } = output;
      const done = withdrawn ? `withdrawn ${plain(id)}` : `the dog of ${plain(id)} is called off`;
      return withNotes(`${done} (${plain(target)})`, notes, color);
    },
  },
  epitaph: {
    op: epitaph,
    names,
    positionals: [{ key: "id" }],
    examples: [
      ["viv epitaph w1", "how it ended, as Markdown"],
      ["viv epitaph w1 --json | jq .exit", "the receipt"],
    ],
    human: ({ text }: { text: string }) => plain(text),
    json: ({ receipt }: { receipt: unknown }) => JSON.stringify(receipt),
  },
  "dog pool status": {
    op: poolStatus,
    names,
    examples: [["viv dog pool status", "each dog, its target and the time left"]],
    human: (status: PoolStatus, { color }) => {
      const { active, pool, waiting, up } = status;
      return [
        `${color.bold("Dog Pool:")} ${active}/${pool} active${waiting > 0 ? `, ${waiting} waiting` : ""}`,
        ...dogLines(status).map((line) => `  ${line}`),
        ...pausedLines(status, color),
        ...(up
          ? []
          : [
              color.yellow(
                `no warden is up here; start one: ${wardenCommand("up", plain(status.state))}`,
              ),
            ]),
      ].join("\n");
    },
  },
  "dog status": {
    op: dogStatus,
    names,
    examples: [["viv dog status --active", "a line for each dog that has a warrant"]],
    human: (status: PoolStatus, { color }) =>
      dogLines(status).join("\n") || color.dim("no dog is active"),
  },
  "dog pool allocate": {
    op: poolAllocate,
    names,
    positionals: [{ key: "warrant" }],
    examples: [["viv dog pool allocate w1", "assign it now"]],
    human: ({ dog, warrant, target, notes }: z.output<typeof poolAllocate.output>, { color }) =>
      withNotes(`${dog} takes ${plain(warrant)} (${plain(target)})`, notes, color),
  },
  "dog pool release": {
    op: poolRelease,
    names,
    positionals: [{ key: "dog" }],
    examples: [["viv dog pool release dog-1763226000000", "its warrant is queued again"]],
    human: ({ dog, warrant, target, notes }: z.output<typeof poolRelease.output>, { color }) => {
      const done = `${plain(dog)} was asked to give ${plain(warrant)} back (${plain(target)})`;
      return withNotes(done, notes, color);
    },
  },
  "dog dances": {
    op: dogDances,
    names,
    examples: [["viv dog dances", "the running dances"]],
    human: (output: z.output<typeof dogDances.output>, { color }) => {
      const { dances } = output;
      const title = color.bold("Active Shutdown Dances:");
      return [
        dances.length === 0 ? color.dim("no dance is under way") : title,
        ...dances.map((one) => `  ${one.dog} → ${plain(one.target)}: ${stateWords(one)}`),
        ...pausedLines(output, color),
      ].join("\n");
    },
  },
  "dog warrants": {
    op: dogWarrants,
    names,
    examples: [["viv dog warrants", "the queue"]],
    human: (output: WarrantQueue, term) => {
      const { warrants } = output;
      return [
        `${term.color.bold("Pending Warrants:")} ${warrants.length}`,
        ...warrants.map((one, n) => `  ${n + 1}. ${pendingWords(one, term)}`),
        ...badLines(output, term),
      ].join("\n");
    },
  },
} satisfies Record<string, Command>;

type Found = { warrant: Warrant; dance?: Dance; receipt?: Receipt; record?: SeedRecord };
type Shown = Omit<z.output<typeof warrantShow.output>, keyof Found> & Found;

function danceRows({ id, state, seed, attempt, next_timeout }: Dance): string[][] {
  const until = next_timeout === null ? "" : `, until ${next_timeout}`;
  return [["dog", `${id}, ${seed ?? state}, attempt ${attempt}${until}`]];
}

function recordRows({ dog, ended, details }: SeedRecord): string[][] {
  const ending = `${plain(ended)}, by a pool before this one`;
  return [
    ["dog", plain(dog)],
    ["ended", details === "" ? ending : `${ending}: ${plain(details)}`],
  ];
}

function receiptRows({ dog, verdict, why, ended_at, reaped }: Receipt): Cell[][] {
  return [
    ["dog", dog],
    ["verdict", prose(`${verdict}: ${plain(why)}`)],
    ["ended", ended_at],
    ...(reaped.length === 0 ? [] : [["given back", plain(reaped.join(", "))]]),
  ];
}

function warrantRows({ warrants }: WarrantQueue, { color }: Term): Cell[][] {
  return warrants.map((one) => [
    ...[plain(one.id), "waits", plain(one.target), prose(plain(one.reason))],
    ...[`by ${plain(one.requester)}`, color.dim(`for ${formatDuration(one.waiting_ms)}`)],
  ]);
}

function pendingWords(one: WarrantQueue["warrants"][number], { color }: Term): string {
  const since = color.dim(`by ${plain(one.requester)}, for ${formatDuration(one.waiting_ms)}`);
  return `${plain(one.id)}: ${plain(one.target)} (${plain(one.reason)})  ${since}`;
}

function badLines({ bad }: WarrantQueue, { color }: Term): string[] {
  return bad.map(({ name, why }) => color.red(`${plain(name)}: ${plain(why)}`));
}

function withNotes(line: string, notes: readonly string[], color: Term["color"]): string {
  return [line, ...notes.map((note) => color.yellow(plain(note)))].join("\n");
}

type Paused = Pick<PoolStatus, "paused" | "state">;

function pausedLines({ paused, state }: Paused, { yellow }: Term["color"]): string[] {
  const todo = wardenCommand("resume", plain(state));
  return paused ? [yellow(`paused: ${plain(paused.why)}; to go on: ${todo}`)] : [];
}

/** Idle dogs are numbered after the others: a dog has an id only as long as it has a warrant. */
function dogLines({ dogs, idle }: PoolStatus): string[] {
  const lines = dogs.map((dog) => `${dog.dog}: ${danceWords(dog)}`);
  for (let n = dogs.length + 1; lines.length < dogs.length + idle; n++) {
    if (!dogs.some(({ dog }) => dog === `dog-${n}`)) lines.push(`dog-${n}: idle`);
  }
  return lines;
}

function danceWords({ state, target, attempt, seconds_left, held }: DanceView): string {
  if (held !== null) return `holds the execution of ${plain(target)}`;
  const left = seconds_left === null ? "" : `, ${seconds_left}s remaining`;
  return `${state} ${plain(target)}${isAsking(state) ? ` (attempt ${attempt}${left})` : ""}`;
}

function stateWords({ state, attempt, attempts, seconds_left, held }: DanceView): string {
  if (state === "executing") return "Executing warrant";
  if (held !== null) return "Held before its execution";
  const name = `${state.charAt(0).toUpperCase()}${state.slice(1)}`;
  const left = seconds_left === null ? "" : `, timeout in ${seconds_left}s`;
  return isAsking(state) ? `${name} (${attempt}/${attempts})${left}` : name;
}

const isAsking = (state: DanceView["state"]) => state === "interrogating" || state === "evaluating";
