import { formatCount } from "../../base/amount.ts";
import { alternatives, counted } from "../../base/text.ts";
import { clip } from "../../operation/term.ts";
import { header } from "./header.ts";
import { bodyHeight, type Model, question, selected, TABS, tasksOf } from "./model.ts";
import { fitted, type Line, type Span, span, wrapped } from "./paint.ts";
import { tableLines } from "./table.ts";

/** The whole screen, line by line. Pure. */
export function frame(model: Model, now: number, hasColor: boolean): Line[] {
  const { columns, rows } = model.size;
  const lines = model.overlay === null ? mainLines(model, now, hasColor) : overlayLines(model);
  const body = lines.slice(0, Math.max(0, rows - 1));
  while (body.length < rows - 1) body.push([]);
  return [...body.map((line) => fitted(line, columns)), fitted(footer(model), columns)];
}

function mainLines(model: Model, now: number, hasColor: boolean): Line[] {
  const { head, body } = tableLines(model, now);
  const names = fitted([{ text: textOf(head), styles: ["bold", "inverse"] }], model.size.columns, [
    "inverse",
  ]);
  const above = model.size.rows >= 6 ? [tabLine(model), names] : [];
  const shown = body.slice(0, bodyHeight(model));
  return [...header(model, now, hasColor), ...above, ...shown];
}

/** For a pipe, and --once: all rows that were read, and nothing to press. */
export function printed(model: Model, now: number, hasColor: boolean): Line[] {
  const unselected = { ...model, cursor: { ...model.cursor, index: -1 } };
  const { head, body } = tableLines(unselected, now);
  const more = model.snapshot?.more ?? 0;
  const rest = more > 0 ? [[span(`  … ${formatCount(more)} more; see: viv ls`, "dim")]] : [];
  return [...header(model, now, hasColor), [], [span(textOf(head), "bold")], ...body, ...rest];
}

function textOf(line: Line): string {
  return line.map(({ text }) => text).join("");
}

const TAB_NAMES = { tasks: "Tasks", workers: "Workers", crew: "Crew", parts: "Parts" } as const;

function tabLine(model: Model): Line {
  const tabs = TABS.map((tab) =>
    tab === model.tab ? span(`[${TAB_NAMES[tab]}]`, "bold") : span(` ${TAB_NAMES[tab]} `, "dim"),
  );
  if (model.tab !== "tasks") return [span(" "), ...tabs];
  const { filter, sort, isReversed, isTree, tagged, snapshot } = model;
  const facts = [
    ...(filter === "" ? [] : [`filter: ${filter} (${tasksOf(model).length})`]),
    ...(sort === "state" && !isReversed
      ? []
      : [`sorted by ${sort}${isReversed ? ", reversed" : ""}`]),
    ...(isTree ? ["tree"] : []),
    ...(tagged.size > 0 ? [`${tagged.size} tagged`] : []),
    ...(snapshot !== null && snapshot.more > 0
      ? [`${formatCount(snapshot.more)} more are not listed`]
      : []),
  ];
  return [span(" "), ...tabs, span(`  ${facts.join("  ")}`, "cyan")];
}

/** In the order in which they are kept on a narrow terminal, and that in which they are shown. */
const KEYS: readonly (readonly [key: string, name: string, place: number, of?: "tasks"])[] = [
  ...([
    ["F10", "Quit", 10],
    ["F1", "Help", 0],
    ["F9", "Cancel", 5, "tasks"],
    ["F4", "Filter", 2, "tasks"],
    ["F3", "Search", 1],
  ] as const),
  ...([
    ["Tab", "Next", 9],
    ["F6", "Sort", 4, "tasks"],
    ["F5", "Tree", 3, "tasks"],
  ] as const),
  ...([
    ["r", "Retry", 6, "tasks"],
    ["a", "Approve", 7, "tasks"],
    ["p", "Pause", 8],
  ] as const),
];

/** Only keys that do something on this tab. */
function keyLine({ size, tab }: Model): Line {
  let left = size.columns;
  const kept = KEYS.filter(([key, name, , of = tab]) => {
    if (of !== tab) return false;
    left -= key.length + name.length + 1;
    return left >= 0;
  });
  return kept
    .toSorted(([, , a], [, , b]) => a - b)
    .flatMap(([key, name]): Span[] => [span(key, "bold"), span(`${name} `, "inverse")]);
}

function footer(model: Model): Line {
  const { confirm, prompt, notice, overlay } = model;
  if (confirm !== null) return asking(question(confirm), model.size.columns);
  if (prompt !== null) {
    const name = prompt.kind === "filter" ? "Filter" : "Search";
    return [span(` ${name}: `, "bold"), span(prompt.text), span("_"), span("  Enter  Esc", "dim")];
  }
  if (notice !== null) return [span(` ${notice.text}`, notice.isError ? "red" : "green")];
  if (overlay !== null) return [span(" q Back   ↑ ↓ Scroll", "dim")];
  return keyLine(model);
}

/** What answers it is seen however narrow the terminal is. */
function asking(text: string, width: number): Line {
  const answer = " y/n";
  return [
    span(` ${clip(text, Math.max(1, width - 1 - answer.length))}`, "bold", "yellow"),
    span(answer),
  ];
}

function overlayLines(model: Model): Line[] {
  const lines = model.overlay === "help" ? HELP : detailLines(model);
  const all = lines.flatMap((line) => wrapped(line, model.size.columns));
  const most = Math.max(0, all.length - (model.size.rows - 1));
  return all.slice(Math.min(model.scroll, most));
}

const HELP: Line[] = [
  [span(" viv top", "bold"), span("  the run as it is, once a second")],
  [],
  ...[
    ["↑ ↓ j k", "move; PgUp PgDn Home End by more"],
    ["Enter", "details of the task: why, attempts, the end of its log"],
    ["Tab ← →", "tasks, workers, crew, parts of viv up"],
    ["F3 /", "search; n: the next one"],
    ["F4 \\", "filter by words in id, type, worker, title, state; Esc: all"],
    ["F5 t", "tree: each task below its parent or what it waits for"],
    ["F6 < >", "sort by another column; I: reversed"],
    ["Space", "tag a task, for the next action; U: untag all"],
    ["F9 x", "cancel"],
    ["r", "retry a failed task"],
    ["a", "approve a task in review"],
    ["p", "pause the run, or let it go on"],
    ["Ctrl-Z", "to the shell; fg comes back"],
    ["F10 q", "quit"],
  ].map(([keys = "", what = ""]): Line => [span(`  ${keys.padEnd(10)}`, "cyan"), span(what)]),
  [],
  [span(" An action is asked back: y does it.", "dim")],
  [span(" Of each state at most 1,000 tasks are listed; the counts are of all.", "dim")],
];

function detailLines(model: Model): Line[] {
  const id = selected(model);
  const { details } = model;
  if (details === null || details.id !== id) return [[span(` ${id ?? ""}`, "bold"), span(" …")]];
  const part = (name: string, lines: readonly Line[]): Line[] =>
    lines.length === 0 ? [] : [[], [span(` ${name}`, "bold")], ...lines];
  return [
    [span(` ${details.id}`, "bold"), span(`  ${details.head}`)],
    ...part(
      "Why",
      details.why.flatMap(({ text, command }): Line[] => [
        [span(`  ${text}`)],
        ...(command === undefined ? [] : alternatives(command)).map((one) => [
          span(`    ${one}`, "cyan"),
        ]),
      ]),
    ),
    ...part(
      "Attempts",
      details.attempts.map((text): Line => [span(`  ${text}`)]),
    ),
    ...part(
      `Log, ${counted(details.log.length, "line")}`,
      details.log.map((text): Line => [span("  │ ", "dim"), span(text)]),
    ),
  ];
}
