import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { apiOf, shaped } from "./api-call.ts";
import type { Check, Comment, Forge, ForgeHost, Issue, Place, PullRequest } from "./forge.ts";

/** GitLab, through `glab api`. Its pull requests are merge requests, their numbers `iid`. */
export function glabForge(host: ForgeHost, place: Place, cwd: string): Forge {
  const api = apiOf(host, "glab", place, cwd);
  const project = `projects/${encodeURIComponent(place.path)}`;
  const read = <T>(schema: z.ZodMiniType<T>, value: unknown) => shaped("glab", schema, value);
  const members = new Map<number, Promise<boolean>>();
  return {
    name: "glab",
    place,
    async pullRequestsOf(branch) {
      const path = `${project}/merge_requests?state=all&source_branch=${encodeURIComponent(branch)}`;
      const found = read(z.array(request), await api.list(path));
      // A fork may have a branch of the same name.
      const isOwn = (one: z.output<typeof request>) =>
        one.source_branch === branch && one.source_project_id === one.target_project_id;
      return found.filter(isOwn).map(pullRequest);
    },
    async create({ branch, base, title, body, draft }) {
      const fields = {
        source_branch: branch,
        target_branch: base,
        title: draft ? `Draft: ${title}` : title,
        description: body,
      };
      return pullRequest(read(request, await api.post(`${project}/merge_requests`, fields)));
    },
    async view(number) {
      const path = `${project}/merge_requests/${number}`;
      const one = read(request, await api.get(path));
      const view = { ...pullRequest(one), hasConflict: one.has_conflicts === true };
      if (view.state !== "open") return { ...view, checks: [], comments: [] };
      const threads = read(z.array(discussion), await api.list(`${path}/discussions`));
      return {
        ...view,
        checks: await checksOf(one),
        comments: await commentsIn(threads, view.url),
      };
    },
    async issues(label, limit) {
      const path = `${project}/issues?state=opened&labels=${encodeURIComponent(label)}`;
      const all: Issue[] = [];
      for (const one of read(z.array(issue), await api.list(path, limit))) {
        const isTrusted = (await mayWrite(one.author.id)) || (await isLabelledByOther(one, label));
        const { iid: number, web_url: url, title, labels } = one;
        const text = { title, body: one.description ?? "", author: one.author.username };
        all.push({ number, url, ...text, labels, isTrusted });
      }
      return all;
    },
    async commentsOf(number) {
      const found = read(z.array(note), await api.list(`${project}/issues/${number}/notes`));
      return found.map(({ body }) => body);
    },
    async comment(number, body) {
      await api.post(`${project}/issues/${number}/notes`, { body });
    },
  };

  /** Developer and above, by themselves or through a group. */
  function mayWrite(user: number): Promise<boolean> {
    const known = members.get(user) ?? levelOf(user).then((level) => level >= DEVELOPER);
    members.set(user, known);
    return known;
  }

  async function levelOf(user: number): Promise<number> {
    try {
      return read(member, await api.get(`${project}/members/all/${user}`)).access_level;
    } catch (error) {
      if (error instanceof VivError && error.details.status === 404) return 0;
      throw error;
    }
  }

  /** A guest may set labels on a new issue, and on no other. */
  async function isLabelledByOther({ iid, author }: z.output<typeof issue>, label: string) {
    const path = `${project}/issues/${iid}/resource_label_events`;
    const events = read(z.array(labelEvent), await api.list(path));
    const last = events.findLast((one) => one.action === "add" && one.label?.name === label);
    return last?.user != null && last.user.id !== author.id;
  }

  async function checksOf({ head_pipeline: pipeline }: z.output<typeof request>): Promise<Check[]> {
    if (!pipeline) return [];
    const { status, web_url: url } = pipeline;
    if (status !== "failed") return [{ name: "pipeline", state: stateOf(status), url }];
    const failed = await api.list(`${project}/pipelines/${pipeline.id}/jobs?scope[]=failed`);
    const jobs = read(z.array(job), failed).filter(({ allow_failure }) => allow_failure !== true);
    if (jobs.length === 0) return [{ name: "pipeline", state: "failed", url }];
    return jobs.map(({ name, web_url }) => ({ name, state: "failed", url: web_url }));
  }

  async function commentsIn(
    threads: readonly z.output<typeof discussion>[],
    url: string,
  ): Promise<Comment[]> {
    const all: Comment[] = [];
    for (const one of threads.flatMap(({ notes }) => notes)) {
      if (one.system || one.resolved === true) continue;
      all.push({
        id: String(one.id),
        author: one.author.username,
        isTrusted: await mayWrite(one.author.id),
        asks: one.resolvable === true,
        body: one.body,
        url: `${url}#note_${one.id}`,
        path: one.position?.new_path ?? undefined,
        line: one.position?.new_line ?? undefined,
      });
    }
    return all;
  }
}

const DEVELOPER = 30;

function stateOf(status: string): Check["state"] {
  if (/^(success|skipped|manual)$/.test(status)) return "passed";
  return /^cancell?ed$/.test(status) ? "unknown" : "running";
}

const request = z.object({
  iid: z.number(),
  web_url: z.string(),
  state: z.enum(["opened", "closed", "locked", "merged"]),
  sha: z.nullish(z.string()),
  source_branch: z.string(),
  target_branch: z.string(),
  source_project_id: z.nullish(z.number()),
  target_project_id: z.number(),
  merge_commit_sha: z.nullish(z.string()),
  squash_commit_sha: z.nullish(z.string()),
  has_conflicts: z.optional(z.boolean()),
  head_pipeline: z.nullish(
    z.object({ id: z.number(), status: z.string(), web_url: z.optional(z.string()) }),
  ),
});

function pullRequest(one: z.output<typeof request>): PullRequest {
  const state = one.state === "merged" ? "merged" : one.state === "closed" ? "closed" : "open";
  const head = one.sha ?? "";
  // A fast-forward has neither of the two: the branch's own commit is in the target.
  const commit = one.merge_commit_sha ?? one.squash_commit_sha ?? head;
  const { iid: number, web_url: url, target_branch: base } = one;
  return { number, url, state, head, base, commit: state === "merged" ? commit : undefined };
}

const author = z.object({ id: z.number(), username: z.string() });
const issue = z.object({
  iid: z.number(),
  web_url: z.string(),
  title: z.string(),
  description: z.nullish(z.string()),
  author,
  labels: z.array(z.string()),
});
const note = z.object({
  id: z.number(),
  body: z.string(),
  author,
  system: z.optional(z.boolean()),
  resolvable: z.optional(z.boolean()),
  resolved: z.optional(z.boolean()),
  position: z.nullish(
    z.object({ new_path: z.nullish(z.string()), new_line: z.nullish(z.number()) }),
  ),
});
const discussion = z.object({ notes: z.array(note) });
const job = z.object({
  name: z.string(),
  web_url: z.optional(z.string()),
  allow_failure: z.optional(z.boolean()),
});
const member = z.object({ access_level: z.number() });
const labelEvent = z.object({
  action: z.string(),
  user: z.nullish(z.object({ id: z.number() })),
  label: z.nullish(z.object({ name: z.string() })),
});
