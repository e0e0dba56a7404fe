import { parseRecord } from "../../base/json.ts";
import { isName } from "../../base/names.ts";
import type { RunContext } from "../../queue/operation.ts";
import type { TaskSummary } from "../../queue/store.ts";
import type { Task } from "../../queue/task.ts";
import { landingsIn } from "../landed.ts";
import { titleOf } from "../report/read-run.ts";
import { report } from "../report/report-operation.ts";
import type { Report } from "../report/report-shape.ts";
import { heldNow } from "../why.ts";
import { boardPage, type CardFacts, columnPage, type FactsOf } from "./board-pages.ts";
import {
  BOARD_SIZE,
  columnFile,
  type FilledColumn,
  PAGE_SIZE,
  pagesOf,
  taskFile,
} from "./columns.ts";
import type { ExportFolder } from "./export-folder.ts";
import { type Html, pageOf, type Shell, type Tag, tagFor } from "./html.ts";
import { privateHere } from "./private-here.ts";
import { breathe, readColumns, readRecord } from "./read-tasks.ts";
import { redactor } from "./redact.ts";
import { reportPage } from "./report-page.ts";
import { STYLE } from "./style.ts";
import { type Around, type Included, readDetail, type TaskDetail } from "./task-facts.ts";
import { gonePage, taskPage } from "./task-page.ts";

export async function writePages(
  context: RunContext,
  folder: ExportFolder,
  included: Included,
  { since, all_tasks }: { since?: string; all_tasks?: boolean },
): Promise<{ tasks: number; task_pages: number }> {
  const { store, here, now } = context;
  const at = new Date(now()).toISOString();
  const morning = await report.run(context, { since });
  const columns = await readColumns(context);
  const redact = redactor(
    privateHere(here.env, {
      ...{ run: store.location, cwd: here.cwd, workspaces: store.workspaces },
      repositories: morning.landed.targets.flatMap(({ repository }) => repository ?? []),
      runWords: morning.run_words,
    }),
  );
  const h = tagFor(redact);
  const paged = tasksWithPage(columns, morning, all_tasks === true);
  const files = new Map([...paged.keys()].map((id) => [id, taskFile(id, redact(id))]));
  const record = await readRecord(context, (id) => paged.has(id));
  const landings = await landingsIn(store);
  const put: Put = (name, shell, body) => {
    const up = name.includes("/") ? ("../" as const) : ("" as const);
    folder.write(name, pageOf(h, { run: store.runId, at, up, ...shell }, body));
  };
  const linked = (id: string) => files.get(id);
  const around: Around = {
    ...{ record, included, held: await heldNow(context), workers: await store.workers() },
    ...{ inReview: morning.counts.review, paused: await store.paused() },
  };
  const known = new Map<string, Pick<CardFacts, "title" | "fact">>();
  for (const [n, [id, task]] of [...paged].entries()) {
    const detail = await readDetail(context, task, around);
    if (detail) known.set(id, { title: detail.title, fact: factOf(task, detail) });
    const more = { usd: record.usdOf(id), pageOf: linked };
    const body = detail ? taskPage(h, task, detail, more) : gonePage(h, id);
    put(files.get(id) ?? "", { title: `${id}: ${store.runId}` }, body);
    if (n % 50 === 49) await breathe(context);
  }
  const factsOf = ({ id, state }: TaskSummary): CardFacts => {
    const { last, attempts = 0, landed } = record.factsOf(id) ?? {};
    return {
      ...(known.get(id) ?? { title: "", fact: "" }),
      ...{ attempts, usd: record.usdOf(id), page: files.get(id) },
      proven: (state === "done" || state === "review") && last?.to === state && last.proven,
      landed: state === "done" && (landed != null || landings?.stateOf(id) === "landed"),
    };
  };
  /** Titles of tasks that have no page. */
  const learn: Learn = async (tasks) => {
    for (const { id } of tasks) {
      if (known.has(id) || !isName(id)) continue;
      const task = parseRecord(await store.source(id)) as Task | null; // food is no JSON
      known.set(id, { title: titleOf(task), fact: "" });
    }
  };
  await writeBoard(context, h, columns, { factsOf, learn, put });
  const index = reportPage(h, morning, linked);
  put("index.html", { title: `Report: ${store.runId}`, current: "report" }, index);
  folder.write("style.css", STYLE);
  const tasks = columns.reduce((sum, column) => sum + column.tasks.length, 0);
  return { tasks, task_pages: files.size };
}

type Learn = (tasks: readonly TaskSummary[]) => Promise<void>;
type Put = (name: string, shell: Pick<Shell, "title" | "current">, body: Html) => void;

async function writeBoard(
  context: RunContext,
  h: Tag,
  columns: readonly FilledColumn[],
  { factsOf, learn, put }: { factsOf: FactsOf; learn: Learn; put: Put },
): Promise<void> {
  const { runId } = context.store;
  const current = "board" as const;
  put("board.html", { title: `Board: ${runId}`, current }, boardPage(h, columns, factsOf));
  for (const column of columns) {
    if (column.tasks.length <= BOARD_SIZE) continue;
    for (let page = 1; page <= pagesOf(column.tasks.length); page++) {
      const first = (page - 1) * PAGE_SIZE;
      await learn(column.tasks.slice(first, first + PAGE_SIZE));
      const title = `${column.label}, page ${page}: ${runId}`;
      put(columnFile(column.name, page), { title, current }, columnPage(h, column, page, factsOf));
      await breathe(context);
    }
  }
}

/** The first page of each column, and what the report names; or all. Foreign ids have none. */
function tasksWithPage(
  columns: readonly FilledColumn[],
  { needs_you, done, slowest, dearest, retried, killed }: Report,
  isAll: boolean,
): Map<string, TaskSummary> {
  const named = new Set([
    ...[...needs_you, ...killed].flatMap(({ tasks }) => tasks),
    ...[...slowest, ...dearest, ...retried].map(({ id }) => id),
    ...done.unproven,
  ]);
  const paged = new Map<string, TaskSummary>();
  for (const { tasks } of columns) {
    for (const [place, task] of tasks.entries()) {
      const isShown = isAll || place < PAGE_SIZE || named.has(task.id);
      if (isShown && isName(task.id)) paged.set(task.id, task);
    }
  }
  return paged;
}

/** Of a task that moves on by itself, the board says enough. */
function factOf({ state }: TaskSummary, { reasons }: TaskDetail): string {
  return state === "claimed" || state === "done" ? "" : (reasons[0]?.text ?? "");
}
