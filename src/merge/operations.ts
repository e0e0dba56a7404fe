import * as z from "zod/mini";
import { messageOf, VivError } from "../base/errors.ts";
import { idWord } from "../base/names.ts";
import { by, flag, text } from "../operation/fields.ts";
import { eventsOf } from "../operation/operation.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { defineRunStream, type RunContext } from "../queue/operation.ts";
import { anyState } from "../queue/schemas.ts";
import type { Store } from "../queue/store.ts";
import { noSuchTask } from "../queue/task.ts";
import { DEFAULT_LOG_BYTES } from "../work/attempt.ts";
import { limitsSection } from "../work/config-route.ts";
import { workerHostPort } from "../work/host.ts";
import { routeFromConfig } from "../work/ready-route.ts";
import { commitOf, findRepository } from "../work/workspaces/worktree.ts";
import { branchesOf, branchOfTask } from "./candidates.ts";
import { branchIn, DEFAULT_MERGE, mergeSection } from "./config.ts";
import { forgePort } from "./forge/forge.ts";
import { LANDING_STATES, type Landing } from "./landing.ts";
import { mergeOnce } from "./queue.ts";
import { sendBack } from "./send-back.ts";
import type { MergeContext, MergeEvent } from "./session.ts";

const input = z.strictObject({
  ids: z.optional(z.array(z.string()).check(z.describe("id of the task (or several)"))),
  all: flag("all that apply (done tasks with a branch)"),
  into: text("the branch that the work goes into (default: into in [merge], else viv/RUN)"),
  continue: text("go on with this task, whose work a person has resolved in its worktree"),
  by,
  dry_run: flag("only show what would be done"),
  status: flag("only show how the landings stand"),
});

const row = z.object({
  id: z.string(),
  type: z.nullable(z.string()),
  /** Of the task. */
  state: anyState,
  landing: z.enum(LANDING_STATES),
  branch: z.string(),
  repository: z.string(),
  target: z.optional(z.string()),
  /** The commit of the target that has it. */
  commit: z.optional(z.string()),
  reason: z.optional(z.string()),
  command: z.optional(z.string()),
  files: z.optional(z.array(z.string())),
  log: z.optional(z.string()),
});
export type Row = z.output<typeof row>;

const output = z.object({
  landings: z.array(row),
  /** Landed before, and not shown. */
  landed_before: z.number(),
  /** `plan`: nothing was done. */
  action: z.enum(["merge", "plan", "status"]),
  warnings: z.optional(z.array(z.string())),
});
export type MergeOutput = z.output<typeof output>;

/** What `viv merge` emits while it works. */
export type MergeProgress =
  /** How many are to land, as far as can be seen. */
  | { kind: "begins"; total: number }
  | Extract<MergeEvent, { kind: "waits" | "proves" }>
  | { kind: "landing"; id: string; landing: string };

export const merge = defineRunStream({
  name: "merge",
  summary: "land the branches of done tasks, each proven again after its merge",
  access: "write",
  input,
  changes: ({ ids, all, dry_run, status, continue: resolved }) => {
    const isAsked = all === true || resolved !== undefined || (ids?.length ?? 0) > 0;
    return isAsked && !status && !dry_run;
  },
  event: z.looseObject({ kind: z.string() }) as unknown as z.ZodMiniType<MergeProgress>,
  output,
  async check(_, { ids, all, continue: resolved, dry_run, status }) {
    if (resolved !== undefined && (ids?.length || all || dry_run || status)) {
      throw new VivError("USAGE", "--continue ID stands alone: it queues that task again.");
    }
    if (ids && ids.length > 0 && all) {
      throw new VivError("USAGE", "name the tasks, or say --all, not both.");
    }
  },
  stream: (context, given) => eventsOf((emit) => merged(context, given, emit)),
});

/** With these, a queue has nothing to do. */
const THROUGH: readonly string[] = ["landed", "no_changes", "needs_you", "pull_request", "closed"];

async function merged(
  context: RunContext,
  given: z.output<typeof input>,
  emit: (event: MergeProgress) => void,
): Promise<MergeOutput> {
  const { store } = context;
  const { continue: resolved, dry_run = false } = given;
  if (resolved !== undefined) {
    const { continueLanding } = await import("./continue.ts");
    const onEvent = (event: MergeEvent) => event.kind === "waits" && emit(event);
    const { signal } = context;
    await continueLanding(store, resolved, { signal, onEvent, by: given.by || undefined });
  }
  const ids = resolved === undefined ? (given.ids ?? []) : [resolved];
  for (const id of ids) {
    await assertHasBranch(store, id);
    if (given.into !== undefined) await assertNotElsewhere(store, id, given.into);
  }
  const wanted = ids.length > 0 ? ids : null;
  const isAsked = wanted !== null || given.all === true;
  if (given.status || (!isAsked && !dry_run)) {
    return { ...(await statusOf(store, wanted)), action: "status" };
  }
  const warnings: string[] = [];
  const touched = new Set<string>();
  const queue = await mergeContext(context, given.into, (event) => {
    if (event.kind === "landing") {
      const { task: id, state: landing } = event.landing;
      touched.add(id);
      emit({ kind: "landing", id, landing });
    } else if (event.kind === "trouble") warnings.push(trouble(event));
    else if (event.kind === "notice") warnings.push(event.message);
    else emit(event);
  });
  if (dry_run) {
    const { planMerge } = await import("./plan.ts");
    const landings = (await planMerge(queue, wanted)).map(({ candidate, state, ...rest }) => {
      const { id, type, branch, repository } = candidate;
      return { id, type, branch, repository, state: "done" as const, landing: state, ...rest };
    });
    return { landings, landed_before: 0, action: "plan" };
  }
  const { landings } = await statusOf(store, wanted);
  const isDue = ({ state, landing }: Row) => state === "done" && !THROUGH.includes(landing);
  emit({ kind: "begins", total: landings.filter(isDue).length });
  await mergeOnce({ ...queue, goAhead: new Set(ids) }, wanted);
  const shown = await statusOf(store, wanted, touched);
  return { ...shown, action: "merge", ...(warnings.length > 0 && { warnings }) };
}

function trouble({ error, id }: Extract<MergeEvent, { kind: "trouble" }>): string {
  const message = messageOf(error).replace(/\.$/, "");
  return id === undefined ? message : `${id}: ${message}`;
}

async function mergeContext(
  { store, now, signal, use, here: { config } }: RunContext,
  into: string | undefined,
  onEvent: (event: MergeEvent) => void,
): Promise<MergeContext> {
  const host = await use(workerHostPort);
  const settings = config?.section(mergeSection) ?? DEFAULT_MERGE;
  const openPullRequests: MergeContext["openPullRequests"] = async (ids, tell) => {
    const { openPullRequests: open } = await import("./forge/open.ts");
    await open({ store, host: await use(forgePort), config }, ids, { tell });
  };
  return {
    openPullRequests,
    ...{ store, host, now, signal, onEvent, sendBack, machine: localMachine() },
    settings: into === undefined ? settings : { ...settings, into },
    routeFor: (type) => config && routeFromConfig(config, host, type),
    killAfterMs: 5_000,
    logBytes: config?.section(limitsSection).logBytes ?? DEFAULT_LOG_BYTES,
  };
}

/** Whether the task that a person has named can land at all. */
async function assertHasBranch(store: Store, id: string): Promise<void> {
  const view = await store.show(id);
  if (view === null) throw noSuchTask(id);
  if (branchOfTask(store, id) === null) {
    const why = 'its route has no workspace = "worktree"';
    throw new VivError("INVALID", `${idWord(id)} has no branch to land: ${why}.`);
  }
  const { state } = view;
  if (state === "done") return;
  const next = state === "review" ? `; approve it with: viv approve ${idWord(id)}` : "";
  const message = `${idWord(id)} is ${state}, and only done work lands${next}.`;
  throw new VivError("WRONG_STATE", message, { state });
}

/** A task lands once: another target for one that has landed would be left out without a word. */
async function assertNotElsewhere(store: Store, id: string, into: string): Promise<void> {
  const { landing, branch, repository } = branchOfTask(store, id) ?? {};
  if (landing?.state !== "landed" || repository === undefined) return;
  const { target, to = "", head } = landing;
  const name = branchIn(into);
  const tip = await commitOf(await findRepository(repository), `refs/heads/${branch}`);
  if (target === name || (tip !== null && tip !== head)) return;
  const already = `${idWord(id)} has landed in ${target} (${to.slice(0, 10)}) already, and a task lands once`;
  const message = `${already}; bring that commit to ${name} with git merge or git cherry-pick.`;
  throw new VivError("WRONG_STATE", message, { id, target });
}

/** How landings stand. Those that have landed are only counted, unless they are asked for. */
async function statusOf(
  store: Store,
  wanted: readonly string[] | null,
  touched: ReadonlySet<string> = new Set(),
): Promise<Pick<MergeOutput, "landings" | "landed_before">> {
  const landings: (Row & { since: string })[] = [];
  let landed_before = 0;
  for (const one of branchesOf(store, wanted)) {
    const { id, branch, repository, landing } = one;
    const isAsked = wanted !== null || touched.has(id);
    if (!isAsked && landing?.state === "landed") {
      landed_before++;
      continue;
    }
    const view = await store.show(id);
    if (view === null || (landing === null && view.state !== "done")) continue;
    const { type, state, since } = view;
    const stands = landing === null ? { landing: "queued" as const } : rowOf(landing);
    landings.push({ id, type, state, branch, repository, ...stands, since });
  }
  landings.sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : a.id < b.id ? -1 : 1));
  return { landings: landings.map(({ since: _, ...one }) => one), landed_before };
}

function rowOf({ state, target, to, reason, command, files, proof }: Landing) {
  return {
    ...{ landing: state, target, reason, command, files },
    commit: state === "landed" ? to : undefined,
    log: proof?.log ?? undefined,
  };
}
