import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { forgeHost } from "../../src/app/forge-host.ts";
import { importIssues } from "../../src/merge/forge/import.ts";
import { openPullRequest } from "../../src/merge/forge/open.ts";
import { syncPullRequests } from "../../src/merge/forge/sync.ts";
import { findProgram } from "../../src/platform/processes/programs.ts";
import { github } from "../support/forge/answers.mjs";
import { git, newForge, runWith, type StandIn } from "../support/forge/new-forge.ts";

/**
 * The real gh, where it is installed, against a server on this machine that answers as GitHub's API:
 * gh speaks plain HTTP to github.localhost, through the proxy that it is given.
 */

const GH = findProgram("gh", process.env.PATH);

async function serve(forge: StandIn): Promise<string> {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (data) => {
      text += data;
    });
    request.on("end", () => {
      const path = (request.url ?? "").replace(/^http:\/\/api\.github\.localhost\//, "");
      const method = request.method ?? "GET";
      let answer = { status: 401, body: '{"message":"Bad credentials"}', headers: {} };
      if (request.headers.authorization === "token good") {
        forge.change((state) => {
          answer = github(state, method, path, text && JSON.parse(text));
        });
      }
      response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
      response.end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function scene() {
  const forge = newForge();
  const { store } = await runWith(forge, "t.1");
  const url = "http://github.localhost/acme/app.git";
  git(forge.repository, "remote", "set-url", "origin", url);
  git(forge.repository, "config", `url.${forge.bare}.insteadOf`, url);
  const proxy = await serve(forge);
  const env = { PATH: process.env.PATH, HOME: forge.folder, GH_CONFIG_DIR: forge.folder };
  const contextWith = (more: Record<string, string>) => ({
    ...{ store, config: undefined },
    host: forgeHost({ ...env, HTTP_PROXY: proxy, ...more }),
    sendBack: () => Promise.reject(new Error("not asked for")),
  });
  return { forge, contextWith, proxy };
}

describe.skipIf(GH === null)("the real gh", () => {
  it("opens, reads back, lists issues", async () => {
    const { forge, contextWith } = await scene();
    const context = contextWith({ GH_TOKEN: "good" });
    const landing = await openPullRequest(context, "t.1", { draft: true });
    expect(landing).toMatchObject({ state: "pull_request", pull_request: { number: 1 } });
    expect(forge.state().pulls).toMatchObject([{ branch: "viv/t.1@run", draft: true }]);
    const commit = forge.merge(1);
    expect(await syncPullRequests(context, null)).toMatchObject({
      tasks: [{ did: "landed", landing: { to: commit } }],
    });
    const one = { body: "Please.", login: "alice", labels: ["agent & co"], comments: [] };
    forge.change(({ issues }) => issues.push({ ...one, number: 12, title: "-x" }));
    const request = { from: "gh" as const, label: "agent & co", type: "t", limit: 9, isDry: true };
    expect(await importIssues(context, { ...request, cwd: forge.repository })).toMatchObject([
      { id: "gh-12", title: "-x" },
    ]);
  });

  it.each([
    ["without a login", { GH_TOKEN: "" }, "is not logged in"],
    ["with a login that ended", { GH_TOKEN: "bad" }, "is not logged in"],
    ["without a network", { GH_TOKEN: "good", HTTP_PROXY: "http://127.0.0.1:1" }, "cannot reach"],
  ])("is held %s", async (_, more, words) => {
    const { contextWith } = await scene();
    const landing = await openPullRequest(contextWith(more), "t.1");
    expect(landing).toMatchObject({ state: "held", reason: expect.stringContaining(words) });
  });
});
