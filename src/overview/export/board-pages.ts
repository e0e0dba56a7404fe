import { formatCount, formatUsd } from "../../base/amount.ts";
import type { TaskSummary } from "../../queue/store.ts";
import {
  BOARD_SIZE,
  type Column,
  columnFile,
  type FilledColumn,
  PAGE_SIZE,
  pagesOf,
} from "./columns.ts";
import { Html, linkTo, minute, type Tag } from "./html.ts";

/** What a card shows beside its summary. */
export interface CardFacts {
  title: string;
  /** One line: why it is there. */
  fact: string;
  attempts: number;
  proven: boolean;
  landed: boolean;
  usd: number;
  /** Its page, seen from the export's folder. */
  page: string | undefined;
}

export type FactsOf = (task: TaskSummary) => CardFacts;

/** `board.html`: the first tasks of each column. */
export function boardPage(h: Tag, columns: readonly FilledColumn[], factsOf: FactsOf): Html {
  const jumps = columns.map(
    ({ name, label, tasks }) =>
      h`<a href="${linkTo(`#${name}`)}">${label} ${formatCount(tasks.length)}</a>`,
  );
  const filled = columns.map((column) => {
    const { name, label, tasks } = column;
    const cards = tasks
      .slice(0, BOARD_SIZE)
      .map((task) => card(h, column, task, factsOf(task), ""));
    const all = tasks.length > BOARD_SIZE;
    return h`<section class="col ${new Html(`s-${name}`)}" id="${new Html(name)}"><h2>${label} <span class="n">${formatCount(tasks.length)}</span></h2><ol class="cards">${cards}</ol>${
      all && h`<p><a href="${linkTo(columnFile(name, 1))}">All ${formatCount(tasks.length)}</a></p>`
    }${tasks.length === 0 && h`<p class="dim">None.</p>`}</section>`;
  });
  return h`<h1>Board</h1><nav class="jump" aria-label="Columns">${jumps}</nav><div class="board" tabindex="0" role="region" aria-label="Columns of the board">${filled}</div>`;
}

/** `board/NAME-PAGE.html`: a column, from 1 on. */
export function columnPage(h: Tag, column: FilledColumn, page: number, factsOf: FactsOf): Html {
  const { name, label, tasks } = column;
  const first = (page - 1) * PAGE_SIZE;
  const shown = tasks.slice(first, first + PAGE_SIZE);
  const pages = pagesOf(tasks.length);
  const link = (to: number, words: string) =>
    to >= 1 && to <= pages && h`<a href="${linkTo(`${name}-${to}.html`)}">${words}</a>`;
  const nav = h`<nav class="pages" aria-label="Pages of this column">${link(page > 1 ? 1 : 0, "First")}${link(page - 1, "Previous")}<span>${formatCount(first + 1)} to ${formatCount(first + shown.length)} of ${formatCount(tasks.length)}</span>${link(page + 1, "Next")}${link(page < pages ? pages : 0, "Last")}</nav>`;
  return h`<h1>${label}</h1>${nav}<ol class="cards many ${new Html(`s-${name}`)}">${shown.map((task) => card(h, column, task, factsOf(task), "../"))}</ol>${nav}`;
}

function card(h: Tag, column: Column, task: TaskSummary, facts: CardFacts, up: string): Html {
  const { id, type, since, worker, priority, cancelled } = task;
  const { title, fact, attempts, proven, landed, usd, page } = facts;
  const name = page
    ? h`<a class="id" href="${linkTo(`${up}${page}`)}">${id}</a>`
    : h`<span class="id">${id}</span>`;
  const tag = (text: string | false | null | undefined) =>
    text ? h`<span class="tag">${text}</span>` : h``;
  const tags = [
    tag(type),
    tag(priority !== "normal" && priority),
    tag(worker),
    tag(attempts > 1 && `attempt ${attempts}`),
    tag(cancelled && "cancelled"),
    tag(proven && "proven"),
    tag(landed && "landed"),
    tag(usd > 0 && formatUsd(usd)),
  ];
  return h`<li class="card ${new Html(`s-${column.name}`)}"><div class="top">${name}<time class="dim">${minute(since).slice(5)}</time></div>${title !== "" && h`<div>${title}</div>`}${fact !== "" && h`<div class="fact">${fact}</div>`}<div class="tags">${tags}</div></li>
`;
}
