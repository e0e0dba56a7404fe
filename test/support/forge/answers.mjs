// A forge that keeps its state in a folder: `state.json`, and a bare repository whose branches are
// the truth about commits. Answers requests as GitHub's and GitLab's APIs do, as far as viv asks.

import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const readState = (folder) => JSON.parse(readFileSync(join(folder, "state.json"), "utf8"));

export function writeState(folder, state) {
  const path = join(folder, "state.json");
  writeFileSync(`${path}.new`, JSON.stringify(state, null, 2));
  renameSync(`${path}.new`, path);
}

const git = (state, ...args) =>
  execFileSync("git", ["-C", state.bare, ...args], { encoding: "utf8" }).trim();

export function commitAt(state, branch) {
  try {
    return git(state, "rev-parse", "--verify", "--quiet", `refs/heads/${branch}`);
  } catch {
    return null;
  }
}

/** An open request shows its branch as it is; one that has ended, as it was. */
const headOf = (state, pull) => pull.sha ?? commitAt(state, pull.branch) ?? "0".repeat(40);
const isOpen = (pull) => pull.state === "open";
const json = (status, body, headers = {}) => ({ status, body: JSON.stringify(body), headers });

function create(state, { branch, base, title, body, draft }) {
  if (commitAt(state, branch) === null) return { error: "head branch does not exist" };
  if (commitAt(state, base) === null) return { error: "base branch does not exist" };
  if (state.pulls.some((one) => isOpen(one) && !one.fork && one.branch === branch)) {
    return { error: `A pull request already exists for ${state.owner}:${branch}.`, exists: true };
  }
  const number = ++state.last;
  const pull = { number, branch, base, title, body, draft, state: "open" };
  Object.assign(pull, { checks: [], reviews: [], threads: [], comments: [] });
  state.pulls.push(pull);
  return { pull };
}

const page = (items, query) => {
  const size = Number(query.get("per_page") ?? 30);
  const from = (Number(query.get("page") ?? 1) - 1) * size;
  return items.slice(from, from + size);
};

// GitHub

const association = (state, login) => state.people[login]?.github ?? "NONE";

function ghPull(state, pull) {
  return {
    number: pull.number,
    html_url: `https://github.com/${state.owner}/${state.name}/pull/${pull.number}`,
    state: isOpen(pull) ? "open" : "closed",
    merged_at: pull.state === "merged" ? "2026-11-16T00:00:00Z" : null,
    merge_commit_sha: pull.commit ?? null,
    head: { ref: pull.branch, sha: headOf(state, pull) },
    base: { ref: pull.base },
  };
}

function ghComment(state, { id, login, body }) {
  const authorAssociation = association(state, login);
  return { id, url: `https://github.com/c/${id}`, body, authorAssociation, author: { login } };
}

function ghView(state, pull) {
  const said = (one) => ghComment(state, one);
  const nodes = pull.checks.map((check) => ({ __typename: "CheckRun", ...check }));
  return {
    number: pull.number,
    url: ghPull(state, pull).html_url,
    state: pull.state.toUpperCase(),
    mergeable: pull.conflicts ? "CONFLICTING" : "MERGEABLE",
    baseRefName: pull.base,
    headRefOid: headOf(state, pull),
    mergeCommit: pull.commit ? { oid: pull.commit } : null,
    reviews: { nodes: pull.reviews.map((one) => ({ ...said(one), state: one.state })) },
    comments: { nodes: pull.comments.map(said) },
    reviewThreads: {
      nodes: pull.threads.map(({ resolved, path, line, comments }) => ({
        ...{ isResolved: resolved === true, path, line },
        comments: { nodes: comments.map(said) },
      })),
    },
    commits: {
      nodes: [{ commit: { statusCheckRollup: nodes.length ? { contexts: { nodes } } : null } }],
    },
  };
}

export function github(state, method, url, body) {
  const [path, search = ""] = url.split("?");
  const query = new URLSearchParams(search);
  if (path === "graphql") {
    const { owner, name, number } = body.variables;
    const pull = state.pulls.find((one) => one.number === number);
    if (owner !== state.owner || name !== state.name || !pull) {
      return json(200, { data: { repository: null }, errors: [{ message: "Could not resolve" }] });
    }
    return json(200, { data: { repository: { pullRequest: ghView(state, pull) } } });
  }
  const root = `repos/${state.owner}/${state.name}`;
  if (!path.startsWith(`${root}/`)) return json(404, { message: "Not Found" });
  const rest = path.slice(root.length);
  if (rest === "/pulls" && method === "GET") {
    const found = state.pulls.filter((one) => query.get("head") === `${state.owner}:${one.branch}`);
    return json(
      200,
      page(found.toReversed(), query).map((one) => ghPull(state, one)),
    );
  }
  if (rest === "/pulls" && method === "POST") {
    const [owner, branch] = body.head.split(":");
    if (owner !== state.owner) return json(422, { message: "Validation Failed" });
    const { pull, error } = create(state, { ...body, branch });
    const errors = [{ resource: "PullRequest", code: "custom", message: error }];
    return pull
      ? json(201, ghPull(state, pull))
      : json(422, { message: "Validation Failed", errors });
  }
  if (rest === "/issues") {
    const found = state.issues.filter((one) => one.labels.includes(query.get("labels")));
    const shown = page(found, query).map((one) => ({
      ...{ number: one.number, title: one.title, body: one.body, user: { login: one.login } },
      html_url: `https://github.com/${state.owner}/${state.name}/issues/${one.number}`,
      author_association: association(state, one.login),
      labels: one.labels.map((name) => ({ name })),
      ...(one.isPull ? { pull_request: {} } : {}),
    }));
    return json(200, shown);
  }
  const [, number, what] = /^\/issues\/(\d+)\/(comments|events)$/.exec(rest) ?? [];
  const issue = state.issues.find((one) => String(one.number) === number);
  if (!issue) return json(404, { message: "Not Found" });
  if (what === "events") {
    const events = issue.labels.map((name) => ({
      ...{ event: "labeled", actor: { login: issue.labelledBy ?? issue.login }, label: { name } },
    }));
    return json(200, page(events, query));
  }
  if (method === "GET") return json(200, page(issue.comments, query));
  issue.comments.push({ body: body.body });
  return json(201, { id: issue.comments.length });
}

// GitLab

const idOf = (login) => [...login].reduce((sum, c) => sum * 31 + c.charCodeAt(0), 7) % 1_000_003;
const user = (login) => ({ id: idOf(login), username: login });

function glabRequest(state, pull) {
  const failed = pull.checks.some(({ conclusion }) => conclusion === "FAILURE");
  const states = { open: "opened", closed: "closed", merged: "merged" };
  return {
    iid: pull.number,
    web_url: `https://gitlab.com/${state.owner}/${state.name}/-/merge_requests/${pull.number}`,
    state: states[pull.state],
    sha: headOf(state, pull),
    source_branch: pull.branch,
    target_branch: pull.base,
    ...{ source_project_id: pull.fork ?? 1, target_project_id: 1 },
    merge_commit_sha: pull.commit ?? null,
    squash_commit_sha: null,
    has_conflicts: pull.conflicts === true,
    head_pipeline: pull.checks.length
      ? { id: pull.number, status: failed ? "failed" : "success", web_url: "https://gitlab.com/p" }
      : null,
  };
}

function glabDiscussions(pull) {
  const note = ({ id, login, body }) => ({
    ...{ id: Number(id), body, author: user(login), system: false },
  });
  const threads = pull.threads.map(({ resolved, path, line, comments }) => ({
    notes: comments.map((one) => ({
      ...{ ...note(one), resolvable: true, resolved: resolved === true },
      position: { new_path: path, new_line: line },
    })),
  }));
  return [...threads, ...pull.comments.map((one) => ({ notes: [note(one)] }))];
}

export function gitlab(state, method, url, body) {
  const [path, search = ""] = url.split("?");
  const query = new URLSearchParams(search);
  const root = `projects/${encodeURIComponent(`${state.owner}/${state.name}`)}`;
  if (!path.startsWith(`${root}/`)) return json(404, { message: "404 Project Not Found" });
  const rest = path.slice(root.length);
  if (rest === "/merge_requests" && method === "GET") {
    const found = state.pulls.filter((one) => one.branch === query.get("source_branch"));
    return json(
      200,
      page(found.toReversed(), query).map((one) => glabRequest(state, one)),
    );
  }
  if (rest === "/merge_requests") {
    const { source_branch: branch, target_branch: base, title, description } = body;
    const { pull, error, exists } = create(state, { branch, base, title, body: description });
    if (pull) return json(201, glabRequest(state, pull));
    return json(exists ? 409 : 400, { message: [error] });
  }
  const [, number, more = ""] = /^\/merge_requests\/(\d+)(\/discussions)?$/.exec(rest) ?? [];
  const pull = state.pulls.find((one) => String(one.number) === number);
  if (pull && more === "") return json(200, glabRequest(state, pull));
  if (pull) return json(200, page(glabDiscussions(pull), query));
  const [, member] = /^\/members\/all\/(\d+)$/.exec(rest) ?? [];
  if (member) {
    const [, found] = Object.entries(state.people).find(([who]) => `${idOf(who)}` === member) ?? [];
    const level = found?.gitlab ?? 0;
    return level > 0 ? json(200, { access_level: level }) : json(404, { message: "404 Not found" });
  }
  const [, pipeline] = /^\/pipelines\/(\d+)\/jobs$/.exec(rest) ?? [];
  if (pipeline) {
    const checks = state.pulls.find((one) => String(one.number) === pipeline)?.checks ?? [];
    const failed = checks.filter(({ conclusion }) => conclusion === "FAILURE");
    return json(
      200,
      page(
        failed.map(({ name }) => ({ name })),
        query,
      ),
    );
  }
  if (rest === "/issues") {
    const found = state.issues.filter((one) => one.labels.includes(query.get("labels")));
    const shown = page(found, query).map(({ number: iid, title, body: description, ...one }) => ({
      ...{ iid, title, description, author: user(one.login), labels: one.labels },
      web_url: `https://gitlab.com/${state.owner}/${state.name}/-/issues/${iid}`,
    }));
    return json(200, shown);
  }
  const [, iid, what] = /^\/issues\/(\d+)\/(notes|resource_label_events)$/.exec(rest) ?? [];
  const issue = state.issues.find((one) => String(one.number) === iid);
  if (!issue) return json(404, { message: "404 Not found" });
  if (what === "resource_label_events") {
    const by = user(issue.labelledBy ?? issue.login);
    const events = issue.labels.map((name) => ({ action: "add", user: by, label: { name } }));
    return json(200, page(events, query));
  }
  const notes = issue.comments.map((one, id) => ({ id, body: one.body, author: user("viv") }));
  if (method === "GET") return json(200, page(notes, query));
  issue.comments.push({ body: body.body });
  return json(201, { id: issue.comments.length });
}
