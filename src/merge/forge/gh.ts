import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { isRecord } from "../../base/json.ts";
import { apiOf, shaped } from "./api-call.ts";
import type { Check, Comment, Forge, ForgeHost, Issue, Place, PullRequest } from "./forge.ts";

/** GitHub, through `gh api`: REST for changes and lists, one GraphQL query for all about one request. */
export function ghForge(host: ForgeHost, place: Place, cwd: string, from: Place): Forge {
  const api = apiOf(host, "gh", place, cwd);
  const [owner = "", name = ""] = place.path.split("/");
  /** The owner of the repository that branches are pushed to: it may be a fork. */
  const [pusher = ""] = from.path.split("/");
  const repo = `repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
  const read = <T>(schema: z.ZodMiniType<T>, value: unknown) => shaped("gh", schema, value);
  return {
    name: "gh",
    place,
    async pullRequestsOf(branch) {
      const head = encodeURIComponent(`${pusher}:${branch}`);
      const found = await api.list(`${repo}/pulls?state=all&head=${head}`);
      return read(z.array(pull), found)
        .filter(({ head }) => head.ref === branch)
        .map(pullRequest);
    },
    async create({ branch, base, title, body, draft }) {
      const request = { head: `${pusher}:${branch}`, base, title, body, draft };
      return pullRequest(read(pull, await api.post(`${repo}/pulls`, request)));
    },
    async view(number) {
      const variables = { owner, name, number };
      const answer = read(viewAnswer, await api.post("graphql", { query: VIEW, variables }));
      const found = answer.data?.repository?.pullRequest;
      if (!found) {
        const why = answer.errors?.[0]?.message ?? "it is not there";
        throw new VivError("INVALID", `gh: pull request ${number} of ${place.path}: ${why}.`);
      }
      return {
        number: found.number,
        url: found.url,
        state: STATES[found.state],
        head: found.headRefOid,
        base: found.baseRefName,
        commit: found.mergeCommit?.oid,
        hasConflict: found.mergeable === "CONFLICTING",
        checks: checksOf(found),
        comments: commentsOf(found),
      };
    },
    async issues(label, limit) {
      const path = `${repo}/issues?state=open&labels=${encodeURIComponent(label)}`;
      // The list has pull requests as well.
      const isIssue = (one: unknown) => !(isRecord(one) && one.pull_request);
      const found = read(z.array(issue), await api.list(path, limit, isIssue));
      const all: Issue[] = [];
      for (const one of found) {
        const author = one.user?.login ?? "ghost";
        const isTrusted =
          TRUSTED.has(one.author_association) ||
          (await isLabelledByOther(one.number, label, author));
        const labels = one.labels.map((each) => (typeof each === "string" ? each : each.name));
        const { number, html_url: url, title } = one;
        all.push({ number, url, title, body: one.body ?? "", author, labels, isTrusted });
      }
      return all;
    },
    async commentsOf(number) {
      const found = await api.list(`${repo}/issues/${number}/comments`);
      return read(z.array(z.object({ body: z.nullish(z.string()) })), found).map(
        ({ body }) => body ?? "",
      );
    },
    async comment(number, body) {
      await api.post(`${repo}/issues/${number}/comments`, { body });
    },
  };

  /** A label that a template of issues sets is set by the issue's author. */
  async function isLabelledByOther(number: number, label: string, author: string) {
    const events = read(z.array(labelEvent), await api.list(`${repo}/issues/${number}/events`));
    const last = events.findLast(
      (one) => one.event === "labeled" && one.label?.name.toLowerCase() === label.toLowerCase(),
    );
    return last?.actor != null && last.actor.login !== author;
  }
}

/** Owners, members of the organisation, and people who were invited to the repository. */
const TRUSTED: ReadonlySet<string | undefined> = new Set(["OWNER", "MEMBER", "COLLABORATOR"]);
const STATES = { OPEN: "open", CLOSED: "closed", MERGED: "merged" } as const;

const pull = z.object({
  number: z.number(),
  html_url: z.string(),
  state: z.enum(["open", "closed"]),
  merged_at: z.nullish(z.string()),
  merge_commit_sha: z.nullish(z.string()),
  head: z.object({ ref: z.string(), sha: z.string() }),
  base: z.object({ ref: z.string() }),
});

function pullRequest(one: z.output<typeof pull>): PullRequest {
  const isMerged = one.merged_at != null;
  return {
    number: one.number,
    url: one.html_url,
    state: isMerged ? "merged" : one.state,
    head: one.head.sha,
    base: one.base.ref,
    // Of an open one it is a trial merge.
    commit: isMerged ? (one.merge_commit_sha ?? undefined) : undefined,
  };
}

const issue = z.object({
  number: z.number(),
  html_url: z.string(),
  title: z.string(),
  body: z.nullish(z.string()),
  user: z.nullish(z.object({ login: z.string() })),
  author_association: z.optional(z.string()),
  labels: z.array(z.union([z.string(), z.object({ name: z.string() })])),
});

const labelEvent = z.object({
  event: z.string(),
  actor: z.nullish(z.object({ login: z.string() })),
  label: z.optional(z.object({ name: z.string() })),
});

const COMMENT = "id url body authorAssociation author{login}";
const VIEW = `query($owner:String!,$name:String!,$number:Int!){
  repository(owner:$owner,name:$name){pullRequest(number:$number){
    number url state mergeable baseRefName headRefOid mergeCommit{oid}
    reviews(last:100){nodes{state ${COMMENT}}}
    comments(last:100){nodes{${COMMENT}}}
    reviewThreads(last:100){nodes{isResolved path line comments(first:50){nodes{${COMMENT}}}}}
    commits(last:1){nodes{commit{statusCheckRollup{contexts(first:100){nodes{
      __typename
      ... on CheckRun{name status conclusion detailsUrl}
      ... on StatusContext{context state targetUrl}
    }}}}}}
  }}
}`;

const nodes = <T extends z.ZodMiniType>(node: T) => z.object({ nodes: z.array(node) });
const said = {
  id: z.string(),
  url: z.optional(z.string()),
  body: z.string(),
  authorAssociation: z.string(),
  author: z.nullish(z.object({ login: z.string() })),
};
const check = z.object({
  name: z.optional(z.string()),
  status: z.optional(z.string()),
  conclusion: z.nullish(z.string()),
  detailsUrl: z.nullish(z.string()),
  context: z.optional(z.string()),
  state: z.optional(z.string()),
  targetUrl: z.nullish(z.string()),
});
const viewed = z.object({
  number: z.number(),
  url: z.string(),
  state: z.enum(["OPEN", "CLOSED", "MERGED"]),
  mergeable: z.string(),
  baseRefName: z.string(),
  headRefOid: z.string(),
  mergeCommit: z.nullish(z.object({ oid: z.string() })),
  reviews: nodes(z.object({ ...said, state: z.string() })),
  comments: nodes(z.object(said)),
  reviewThreads: nodes(
    z.object({
      isResolved: z.boolean(),
      path: z.optional(z.string()),
      line: z.nullish(z.number()),
      comments: nodes(z.object(said)),
    }),
  ),
  commits: nodes(
    z.object({
      commit: z.object({ statusCheckRollup: z.nullish(z.object({ contexts: nodes(check) })) }),
    }),
  ),
});
type Viewed = z.output<typeof viewed>;
const viewAnswer = z.object({
  data: z.nullish(
    z.object({ repository: z.nullish(z.object({ pullRequest: z.nullish(viewed) })) }),
  ),
  errors: z.optional(z.array(z.object({ message: z.string() }))),
});

/** Of a check run and of a commit's status. Cancelled by a person says nothing about the work. */
const STATE_OF: readonly [RegExp, Check["state"]][] = [
  [/^(FAILURE|ERROR|TIMED_OUT|STARTUP_FAILURE)$/, "failed"],
  [/^(QUEUED|IN_PROGRESS|WAITING|PENDING|REQUESTED|EXPECTED)$/, "running"],
  [/^(SUCCESS|NEUTRAL|SKIPPED)$/, "passed"],
];

function checksOf(found: Viewed): Check[] {
  const contexts = found.commits.nodes[0]?.commit.statusCheckRollup?.contexts.nodes ?? [];
  return contexts.map((one) => {
    // A run that has not ended has no conclusion.
    const word = one.conclusion || one.state || one.status || "";
    const state = STATE_OF.find(([words]) => words.test(word))?.[1] ?? "unknown";
    const url = one.detailsUrl ?? one.targetUrl ?? undefined;
    return { name: one.name ?? one.context ?? "check", state, url };
  });
}

function commentsOf({ reviews, comments, reviewThreads }: Viewed): Comment[] {
  const one = (from: z.output<typeof viewed>["comments"]["nodes"][number], asks: boolean) => ({
    id: from.id,
    author: from.author?.login ?? "ghost",
    isTrusted: TRUSTED.has(from.authorAssociation),
    asks,
    body: from.body,
    url: from.url,
  });
  return [
    ...reviews.nodes.flatMap((review) => {
      const isRequest = review.state === "CHANGES_REQUESTED";
      const isRemark = review.state === "COMMENTED" && review.body.trim() !== "";
      return isRequest || isRemark ? [one(review, true)] : [];
    }),
    ...reviewThreads.nodes.flatMap(({ isResolved, path, line, comments: thread }) =>
      isResolved
        ? []
        : thread.nodes.map((each) => ({ ...one(each, true), path, line: line ?? undefined })),
    ),
    // A remark in the conversation is told with the rest, and asks for nothing by itself.
    ...comments.nodes.map((each) => one(each, false)),
  ];
}
