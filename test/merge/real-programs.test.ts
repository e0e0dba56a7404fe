import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { forgeHost } from "../../src/app/forge-host.ts";
import { FORGES, type ForgeName } from "../../src/merge/forge/forge.ts";
import { importIssues } from "../../src/merge/forge/import.ts";
import { syncPullRequests } from "../../src/merge/forge/sync.ts";
import { findProgram } from "../../src/platform/processes/programs.ts";
import { github, gitlab } from "../support/forge/answers.mjs";
import {
  git,
  newForge,
  openPullRequest,
  runWith,
  type StandIn,
} from "../support/forge/new-forge.ts";

/**
 * The real gh and glab, where they are installed (`npm test` installs gh on Debian; glab is in Debian 13),
 * against a server on this machine that answers as their APIs do. gh speaks plain HTTP to github.localhost,
 * through the proxy that it is given; glab to the address in its settings.
 */

interface Answer {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

/** `answer`: instead of the forge's own, for what it matches. */
async function serve(
  forge: StandIn,
  answer: (request: string) => Answer | null = () => null,
): Promise<string> {
  const ask = forge.program === "gh" ? github : gitlab;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (data) => {
      text += data;
    });
    request.on("end", () => {
      const { method = "GET", url = "", headers } = request;
      const path = url.replace(/^http:\/\/api\.github\.localhost\/|^\/api\/v4\//, "");
      const login = headers.authorization ?? headers["private-token"];
      let found: Answer = { status: 401, body: '{"message":"Bad credentials"}' };
      if (login === "token good" || login === "good") {
        const instead = answer(`${method} ${path}`);
        if (instead !== null) found = instead;
        else
          forge.change((state) => {
            found = ask(state, method, path, text && JSON.parse(text));
          });
      }
      response.writeHead(found.status, { "content-type": "application/json", ...found.headers });
      response.end(found.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Login = "good" | "bad" | "";

const HOST = { gh: "github.localhost", glab: "gitlab.localhost" };

async function scene(program: ForgeName, host = HOST[program]) {
  const forge = newForge(program);
  const { store } = await runWith(forge, "t.1");
  const url = `http://${host}/acme/app.git`;
  git(forge.repository, "remote", "set-url", "origin", url);
  git(forge.repository, "config", `url.${forge.bare}.insteadOf`, url);
  const contextWith = (server: string, login: Login = "good") => {
    const settings = join(forge.folder, "glab-settings");
    mkdirSync(settings, { recursive: true });
    const token = login === "" ? "" : `    token: ${login}\n`;
    const one = `  ${host}:\n    api_protocol: http\n    api_host: ${server}\n${token}`;
    writeFileSync(join(settings, "config.yml"), `hosts:\n${one}`, { mode: 0o600 });
    const env = {
      ...{ PATH: process.env.PATH, HOME: forge.folder, GH_CONFIG_DIR: forge.folder },
      ...(program === "gh" ? { GH_TOKEN: login, HTTP_PROXY: `http://${server}` } : {}),
      GLAB_CONFIG_DIR: settings,
    };
    return {
      ...{ store, config: undefined, host: forgeHost(env) },
      sendBack: () => Promise.reject(new Error("not asked for")),
    };
  };
  return { forge, contextWith };
}

describe.each(FORGES)("the real %s", (program) => {
  const isThere = findProgram(program, process.env.PATH) !== null;
  const real = it.skipIf(!isThere);
  if (!isThere) console.warn(`${program} is not installed: its tests are skipped`);

  real("opens, reads back, lists issues", async () => {
    const { forge, contextWith } = await scene(program);
    const context = contextWith(await serve(forge));
    const landing = await openPullRequest(context, "t.1", { draft: true });
    expect(landing).toMatchObject({ state: "pull_request", pull_request: { number: 1 } });
    expect(forge.state().pulls).toMatchObject([{ branch: landing.branch }]);
    const commit = forge.merge(1);
    expect(await syncPullRequests(context, null)).toMatchObject({
      tasks: [{ did: "landed", landing: { to: commit } }],
    });
    const one = { body: "Please.", login: "alice", labels: ["agent & co"], comments: [] };
    forge.change(({ issues }) => issues.push({ ...one, number: 12, title: "-x" }));
    const request = { from: program, label: "agent & co", type: "t", limit: 9, isDry: true };
    expect(await importIssues(context, { ...request, cwd: forge.repository })).toMatchObject({
      tasks: [{ id: `${program}-12`, title: "-x" }],
      more: false,
    });
  });

  real.each<[string, Login, string]>([
    ["without a login", "", "is not logged in"],
    ["with a login that ended", "bad", "is not logged in"],
  ])("is held %s", async (_, login, words) => {
    const { forge, contextWith } = await scene(program);
    const landing = await openPullRequest(contextWith(await serve(forge), login), "t.1");
    expect(landing).toMatchObject({ state: "held", reason: expect.stringContaining(words) });
  });

  real("is held without a network", async () => {
    const { contextWith } = await scene(program);
    const landing = await openPullRequest(contextWith("127.0.0.1:1"), "t.1");
    const reason = expect.stringContaining("cannot reach");
    expect(landing).toMatchObject({ state: "held", reason });
  });

  const page = {
    status: 200,
    body: "<html>sign in</html>",
    headers: { "content-type": "text/html" },
  };
  real.each<[string, Answer, string]>([
    ["a page", page, "no JSON"],
    ["half an answer", { status: 200, body: '[{"number": 1, "ht' }, "no JSON"],
    ["an error", { status: 502, body: "<html>" }, "HTTP 502"],
    ["a limit", { status: 429, body: "later", headers: { "retry-after": "30" } }, "rate limit"],
    ["a refusal", { status: 403, body: '{"message":"No, never."}' }, "No, never"],
    ["reasons in a list", { status: 400, body: '{"message":["No."]}' }, "HTTP 400"],
  ])("is held by %s", async (_, answer, words) => {
    const { forge, contextWith } = await scene(program);
    const server = await serve(forge, () => answer);
    const landing = await openPullRequest(contextWith(server), "t.1");
    expect(landing).toMatchObject({ state: "held", reason: expect.stringContaining(words) });
    expect(landing.reason).not.toMatch(/unmarshal|Usage/);
  });

  real("finds the request that another process opened meanwhile", async () => {
    const { forge, contextWith } = await scene(program);
    let isFirst = true;
    const server = await serve(forge, (request) => {
      const [, branch] = /^GET .*(?:head=acme%3A|source_branch=)([^&]+)/.exec(request) ?? [];
      if (branch === undefined || !isFirst) return null;
      isFirst = false;
      forge.change(({ pulls }) => {
        const one = { checks: [], reviews: [], threads: [], comments: [], title: "", body: "" };
        const where = { branch: decodeURIComponent(branch), base: "main" };
        pulls.push({ ...one, ...where, number: 7, state: "open" });
      });
      return { status: 200, body: "[]" };
    });
    const landing = await openPullRequest(contextWith(server), "t.1");
    expect(landing).toMatchObject({ state: "pull_request", pull_request: { number: 7 } });
    expect(forge.state().pulls).toHaveLength(1);
  });

  real("speaks to a host with a port, or says that it cannot", async () => {
    const { forge, contextWith } = await scene(program, `${HOST[program]}:8443`);
    const landing = await openPullRequest(contextWith(await serve(forge)), "t.1");
    const reason = expect.stringContaining("takes no port");
    expect(landing).toMatchObject(
      program === "gh" ? { state: "held", reason } : { state: "pull_request" },
    );
  });
});
