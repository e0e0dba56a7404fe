import * as z from "zod/mini";
import { isVivError, VivError } from "../../base/errors.ts";
import { count, flag, list, text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import { defineRunOperation, mustShow, type RunContext, storePort } from "../../queue/operation.ts";
import { anyState } from "../../queue/schemas.ts";
import type { Store } from "../../queue/store.ts";
import { LANDING_STATES, type Landing, readLanding } from "../landing.ts";
import { FORGES, forgePort } from "./forge.ts";

/** A task, where its branch is on its way, and its pull request. */
const onItsWay = {
  ...{ id: z.string(), type: z.nullable(z.string()), state: z.nullable(anyState) },
  landing: z.nullable(z.enum(LANDING_STATES)),
  url: z.optional(z.string()),
  number: z.optional(z.number()),
  /** Of `landed`. */
  commit: z.optional(z.string()),
  reason: z.optional(z.string()),
  /** What a person types to go on. */
  command: z.optional(z.string()),
};

async function rowOf(store: Store, id: string, landing: Landing | null) {
  const { type = null, state = null } = (await store.show(id)) ?? {};
  const { pull_request, to, reason, command } = landing ?? {};
  const { url, number } = pull_request ?? {};
  const where = { landing: landing?.state ?? null, url, number, reason, command };
  return { id, type, state, ...where, commit: landing?.state === "landed" ? to : undefined };
}

async function forgeContext({ store, use, here }: RunContext) {
  return { store, host: await use(forgePort), config: here.config };
}

const dryRun = flag("only show what would be done");

export const pr = defineRunOperation({
  name: "pr",
  summary: "push the branch of a done task and open a pull request",
  access: "write",
  input: z.strictObject({
    ids: list("id of the task (or several)"),
    all: flag("all that apply (done tasks with commits that have not landed)"),
    draft: flag("open it as a draft"),
    title: text("title of the pull request (default: the task's)"),
    dry_run: dryRun,
  }),
  output: z.object({
    tasks: z.array(
      z.object({
        ...onItsWay,
        /** With `dry_run`: what would be pushed and opened. */
        plan: z.optional(
          z.object({
            forge: z.enum(FORGES),
            repo: z.string(),
            remote: z.string(),
            branch: z.string(),
            base: z.string(),
            commit: z.string(),
            push: z.boolean(),
            open: z.boolean(),
            title: z.string(),
            body: z.string(),
          }),
        ),
      }),
    ),
  }),
  async run(context, { ids, all, draft, title, dry_run }) {
    const { store } = context;
    const wanted = await chosen(store, ids, all === true);
    if (title !== undefined && wanted.length > 1) {
      throw new VivError("USAGE", "--title goes with one task; each pull request has its own.");
    }
    const forge = await forgeContext(context);
    const tasks = [];
    if (dry_run) {
      for (const id of wanted) tasks.push(await planned(forge, id, { draft, title }));
      return { tasks };
    }
    const { openPullRequests } = await import("./open.ts");
    const { doneWork } = await import("./work.ts");
    // All of them before the first: a slip in the last name leaves nothing half done.
    for (const id of wanted) await doneWork(store, id);
    const landings: Landing[] = [];
    const tell = (landing: Landing) => void landings.push(landing);
    await openPullRequests(forge, wanted, { draft, title, tell });
    for (const landing of landings) tasks.push(await rowOf(store, landing.task, landing));
    return { tasks };
  },
});

type Forge = Awaited<ReturnType<typeof forgeContext>>;

async function planned(forge: Forge, id: string, options: { draft?: boolean; title?: string }) {
  const { store } = forge;
  const [{ planPullRequest }, { doneWork }, { nameOfPlace }] = await Promise.all([
    import("./open.ts"),
    import("./work.ts"),
    import("./place.ts"),
  ]);
  const work = await doneWork(store, id);
  const row = await rowOf(store, id, work.before);
  if (work.commits === 0) return { ...row, landing: "no_changes" as const };
  const { forge: at, existing, ...more } = await planPullRequest(forge, work, options);
  const { remote, branch, base, mustPush: push, title, body } = more;
  const repo = nameOfPlace(at.place);
  const where = { forge: at.name, repo, remote, branch, base, commit: work.to };
  const url = existing?.url ?? row.url;
  return { ...row, url, plan: { ...where, push, open: existing === null, title, body } };
}

/** By their names, or all that are done, have commits and have not come to an end. */
async function chosen(store: Store, ids: readonly string[] = [], all: boolean): Promise<string[]> {
  if (all === ids.length > 0) {
    throw new VivError("USAGE", "which tasks? Name them (viv pr t.7), or take all with --all.");
  }
  if (!all) return [...new Set(ids)];
  const { doneWork } = await import("./work.ts");
  const due: string[] = [];
  for await (const { id } of store.list({ states: ["done"] })) {
    const { state } = readLanding(store.folder, id) ?? {};
    if (state !== undefined && !["queued", "held", "reworked"].includes(state)) continue;
    const work = await doneWork(store, id).catch(() => null); // without a branch, it is not due
    if (work !== null && work.commits > 0) due.push(id);
  }
  return due.sort();
}

export const sync = defineRunOperation({
  name: "sync",
  summary: "read back pull requests: merged, closed, red checks, review comments",
  access: "write",
  input: z.strictObject({
    ids: list("id of the task (or several; default: all with a pull request)"),
  }),
  output: z.object({
    tasks: z.array(
      z.object({
        ...onItsWay,
        did: z.enum(["landed", "closed", "pushed", "sent_back", "held", "nothing"]),
        /** Its issue got the comment that the work has landed. */
        told: z.optional(z.boolean()),
        warnings: z.optional(z.array(z.string())),
      }),
    ),
    /** The forge cannot be asked now; what is not listed is as it was. */
    held: z.optional(z.object({ reason: z.string(), until: z.optional(z.string()) })),
  }),
  async run(context, { ids }) {
    const { store } = context;
    const forge = await forgeContext(context);
    const [{ syncPullRequests }, { sendBack }] = await Promise.all([
      import("./sync.ts"),
      import("../send-back.ts"),
    ]);
    const wanted = ids === undefined || ids.length === 0 ? null : [...new Set(ids)];
    for (const id of wanted ?? []) await mustShow(store, id);
    const report = await syncPullRequests({ ...forge, sendBack }, wanted);
    const tasks = [];
    for (const { id, did, landing, told, warnings, reason } of report.tasks) {
      const row = await rowOf(store, id, landing);
      const why = landing === null ? `its task is ${row.state}` : row.reason;
      tasks.push({ ...row, did, told, warnings, reason: reason ?? why });
    }
    return { tasks, held: report.held };
  },
});

const LABEL = "agent";
const TYPE = "issue";
const LIMIT = 100;

/** A dry run needs no run: it may be the first thing that a person tries. */
export const importFrom = defineOperation({
  name: "import",
  summary: "make tasks of a forge's issues",
  access: "create",
  input: z.strictObject({
    from: z.enum(FORGES).check(z.describe("program of the forge: gh or glab")),
    label: text(`only issues with this label (default: ${LABEL})`),
    repo: text("repository on the forge, like owner/name (default: by the git remote)"),
    type: text(`kind of work; workers select tasks by it (default: ${TYPE})`),
    limit: count(`at most this many (default: ${LIMIT} issues)`),
    dry_run: dryRun,
  }),
  changes: ({ dry_run }) => dry_run !== true,
  output: z.object({
    tasks: z.array(
      z.object({
        ...{ id: z.string(), type: z.nullable(z.string()), state: z.nullable(anyState) },
        ...{ number: z.number(), url: z.string(), title: z.string() },
        did: z.enum(["created", "existed", "skipped"]),
        reason: z.optional(z.string()),
      }),
    ),
    /** The label has more open issues than the limit. */
    more: z.boolean(),
  }),
  async run(context, { from, label = LABEL, repo, type = TYPE, limit = LIMIT, dry_run }) {
    const { here, use } = context;
    if (label.trim() === "") throw new VivError("INVALID", "--label is empty; name a label.");
    const isDry = dry_run === true;
    const store = await use(storePort).catch((error: unknown) => {
      if (isDry && isVivError(error, "UNSUPPORTED")) return null; // there is no run here
      throw error;
    });
    const forge = { store, host: await use(forgePort), config: here.config };
    const [{ importIssues }, { noteLimit }, { isHeld }] = await Promise.all([
      import("./import.ts"),
      import("./open.ts"),
      import("./forge.ts"),
    ]);
    const request = { from, label, repo, type, limit, isDry, cwd: here.cwd };
    const found = await importIssues(forge, request).catch((error: unknown) => {
      if (isHeld(error) && store !== null && !isDry) noteLimit({ ...forge, store }, error);
      throw error;
    });
    const tasks = [];
    for (const one of found.tasks) {
      const view = one.did === "skipped" ? null : await store?.show(one.id);
      tasks.push({ ...one, type: view?.type ?? type, state: view?.state ?? null });
    }
    return { tasks, more: found.more };
  },
});
