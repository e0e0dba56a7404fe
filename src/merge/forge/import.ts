import { resolve } from "node:path";
import { VivError } from "../../base/errors.ts";
import type { Config } from "../../base/section.ts";
import { checkoutAbove } from "../../platform/git/git.ts";
import type { Store } from "../../queue/store.ts";
import { routeFor } from "../../work/config-route.ts";
import { notInstalled } from "./api-call.ts";
import type { Forge, ForgeName, Issue } from "./forge.ts";
import { type ForgeContext, settingsOf } from "./open.ts";
import { placeOfName, placeOfUrl } from "./place.ts";
import { forgeAt } from "./reach.ts";
import { mustBeOpen, readForgeRecord, withForgeLock, writeForgeRecord } from "./record.ts";
import { remoteOf, urlsOf } from "./remote.ts";
import { cleaned, oneLine } from "./text.ts";

/** Tasks of a forge's issues. An issue is one task, whose id comes from its number. */
export interface ImportRequest {
  from: ForgeName;
  label: string;
  /** `owner/name`; without it, the remote of the repository here. */
  repo?: string;
  type: string;
  limit: number;
  isDry: boolean;
  cwd: string;
}

export interface Imported {
  id: string;
  number: number;
  url: string;
  title: string;
  /** `existed`: it is a task already. `skipped`: see the reason. */
  did: "created" | "existed" | "skipped";
  reason?: string;
}

const MOST_TITLE = 500;

/** `store` null: a dry run where there is no run yet. */
type ImportContext = Omit<ForgeContext, "store"> & { store: Store | null };

/** `more`: the label has more open issues than the limit. */
export async function importIssues(
  context: ImportContext,
  request: ImportRequest,
): Promise<{ tasks: Imported[]; more: boolean }> {
  const { store, host } = context;
  if (host.find(request.from) === null) throw notInstalled(request.from);
  const forge = await forgeOf(context, request);
  const act = async () => {
    if (store !== null) mustBeOpen(store.folder, host.now());
    // One more than wanted, to know whether there are more.
    const found = await forge.issues(request.label, request.limit + 1);
    const tasks: Imported[] = [];
    for (const issue of found.slice(0, request.limit).sort((a, b) => a.number - b.number)) {
      tasks.push(await take(store, forge, issue, request));
    }
    return { tasks, more: found.length > request.limit };
  };
  // A dry run leaves nothing in the run, not even the lock's folder.
  return store === null || request.isDry ? act() : withForgeLock(store.folder, act);
}

async function take(
  store: Store | null,
  forge: Forge,
  issue: Issue,
  { from, label, type, isDry }: ImportRequest,
): Promise<Imported> {
  const { number, url, author } = issue;
  const id = `${from}-${number}`;
  const title = oneLine(issue.title, MOST_TITLE);
  const row = { id, number, url, title };
  if (!issue.isTrusted) {
    const reason = `${oneLine(author, 40)} may not write to the repository, and set the label ${label} as its author`;
    return { ...row, did: "skipped", reason };
  }
  const there = (await store?.show(id)) ?? null;
  if (there !== null) {
    if (there.task?.payload.url === url) return { ...row, did: "existed" };
    const reason = `the id ${id} is another task's; import this repository into a run of its own`;
    return { ...row, did: "skipped", reason };
  }
  if (isDry || store === null) return { ...row, did: "created" };
  // Before the task: a worker may end it before we write anything else.
  const { host, path: repo } = forge.place;
  const record = { task: id, forge: from, host, repo, issue: { number, url } };
  writeForgeRecord(store.folder, { ...readForgeRecord(store.folder, id), ...record });
  const payload = { title, body: cleaned(issue.body), url, number, labels: issue.labels, author };
  const spec = { id, type, payload, created_by: `${from}:${oneLine(author, 60)}` };
  const { created } = await store.enqueue(spec, { ifAbsent: true });
  return { ...row, did: created ? "created" : "existed" };
}

/** The repository on the forge: by its name, else by the remote of the one here, else of the route. */
async function forgeOf({ host, config }: ImportContext, request: ImportRequest): Promise<Forge> {
  const { from, repo, cwd, type } = request;
  const settings = settingsOf(config);
  const named = repo ?? settings.repo;
  if (named !== undefined) {
    const place = placeOfName(named);
    if (place !== null) return forgeAt(host, from, place, cwd);
    throw new VivError("INVALID", `--repo ${named} is no repository; write it like owner/name.`);
  }
  const repository = repositoryOf(config, type) ?? checkoutAbove(cwd);
  if (repository === null) {
    throw new VivError("INVALID", "which repository? Name it with --repo owner/name.");
  }
  const remote = await remoteOf(repository, { wanted: settings.remote, branches: [] });
  const place = (await urlsOf(repository, remote)).map(placeOfUrl).find((one) => one !== null);
  if (place) return forgeAt(host, from, place, repository);
  const message = `the remote ${remote} of ${repository} leads to no forge that viv knows; name the repository with --repo owner/name.`;
  throw new VivError("INVALID", message);
}

function repositoryOf(config: Config | undefined, type: string): string | null {
  if (config === undefined) return null;
  const { repository } = routeFor(config, type) ?? {};
  return repository === undefined ? null : resolve(config.folder, repository);
}
