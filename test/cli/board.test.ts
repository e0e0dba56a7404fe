import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { NEWSROOM, Repository } from "../board/support.ts";
import { cli, json, ok } from "./support.ts";

describe("viv board", () => {
  it("takes a story through the whole newsroom, and git's log reads as a changelog", async () => {
    const repo = new Repository();
    const around = { cwd: repo.top };
    const say = (...args: string[]) => json(["board", ...args], around);
    expect(await say("next", "--agent", "moss", "--state", "ASSIGNED")).toEqual({
      task: {
        id: "hello-world",
        slug: "hello-world",
        state: "ASSIGNED",
        agent: null,
        title: "hello world — one story through the whole pipeline",
        line: 5,
      },
    });
    expect(await say("claim", "hello-world", "--agent", "moss")).toMatchObject({
      ...{ slug: "hello-world", from: "ASSIGNED", to: "RESEARCH", agent: "moss" },
      ...{ commit: repo.head, subject: "research: claim hello-world" },
    });
    expect(repo.read()).toBe(
      NEWSROOM.replace(
        "*** ASSIGNED hello world — one story through the whole pipeline\n",
        "*** RESEARCH hello world — one story through the whole pipeline\n:PROPERTIES:\n:AGENT: moss\n:END:\n",
      ),
    );
    expect(repo.git("status", "--porcelain")).toBe("");
    expect(repo.git("diff-index", "HEAD")).toBe("");
    await say("advance", "hello-world", "--agent", "moss", "--note", "9 facts, 4 sources");
    await say("claim", "hello-world", "--agent", "wren");
    await say("advance", "hello-world", "--agent", "wren");
    await say("claim", "hello-world", "--agent", "hale");
    await say("bounce", "hello-world", "--agent", "hale", "--note", "no source for 1815");
    await say("claim", "hello-world", "--agent", "wren");
    await say("advance", "hello-world", "--agent", "wren", "--note", "sourced");
    await say("claim", "hello-world", "--agent", "hale");
    await say("advance", "hello-world", "--agent", "hale", "--note", "out");
    await say("open", "another", "story", "--note", "a lead");
    expect(repo.subjects()).toEqual([
      "desk: open another-story",
      "publish: hello-world — out",
      "edit: claim hello-world",
      "write: hello-world — sourced",
      "write: claim hello-world",
      "edit: bounce hello-world — no source for 1815",
      "edit: claim hello-world",
      "write: hello-world — EDIT",
      "write: claim hello-world",
      "research: hello-world — 9 facts, 4 sources",
      "research: claim hello-world",
      "desk: the board",
    ]);
    expect(repo.read()).toContain("*** PUBLISHED hello world — one story");
    expect(repo.read()).toMatch(
      /- \[[\d-]+ \w+ [\d:]+\] moss: RESEARCH → WRITING: 9 facts, 4 sources/,
    );
    expect(
      repo.read().endsWith("*** PUBLISHED old news\n*** ASSIGNED another story\na lead\n"),
    ).toBe(true);
    expect(await say("audit")).toMatchObject({ commits: 12, claims: 6, findings: [] });
    const { commits } = await json<{ commits: { subject: string }[] }>(
      ["board", "log", "hello-world"],
      around,
    );
    expect(commits.map(({ subject }) => subject)).toEqual(repo.subjects().slice(1).toReversed());
    expect(repo.git("log", "-1", "--format=%an %(trailers:key=Agent,valueonly)")).toBe("ida desk");
    expect(repo.git("fsck", "--strict")).toBe("");
  });

  it("claims once for one agent, and names the holder to another", async () => {
    const repo = new Repository();
    const around = { cwd: repo.top };
    await ok(["board", "claim", "second", "--agent", "wren"], around);
    const { head } = repo;
    expect(repo.read()).toContain(
      "*** WRITING second thoughts\n:PROPERTIES:\n:CUSTOM_ID: second\n:AGENT: wren\n:END:",
    );
    expect(await ok(["board", "claim", "second", "--agent", "wren"], around)).toContain("already");
    expect(
      await cli(["board", "claim", "second", "--agent", "moss", "--json"], around),
    ).toMatchObject({
      status: 4,
      stderr: expect.stringContaining('"code":"WRONG_STATE","message":"wren has second (WRITING)'),
    });
    expect(
      await cli(["board", "advance", "second", "--agent", "moss", "--json"], around),
    ).toMatchObject({
      status: 4,
      stderr: expect.stringContaining("CLAIM_LOST"),
    });
    expect(repo.head).toBe(head);
  });

  it("shows a task as it is committed: holder, properties, text and log", async () => {
    const repo = new Repository();
    const around = { cwd: repo.top };
    const by = ["second", "--agent", "wren"];
    await ok(["board", "claim", ...by], around);
    await ok(["board", "bounce", ...by, "--note", "too thin"], around);
    repo.edit(":END:\n*** EDIT", ":END:\nWhat was \u001b[31msaid.\n*** EDIT", "desk: a lead");
    await ok(["board", "claim", ...by], around);
    const log = [expect.stringMatching(/wren: WRITING → RESEARCH: too thin$/)];
    expect(await json(["board", "show", "second"], around)).toEqual({
      ...{
        id: "second",
        slug: "second",
        state: "RESEARCH",
        agent: "wren",
        title: "second thoughts",
        line: 7,
      },
      properties: { CUSTOM_ID: "second", AGENT: "wren" },
      ...{ body: "What was \u001b[31msaid.", log },
    });
    repo.write("not committed");
    const said = await ok(["board", "show", "second"], around);
    expect(said).toMatch(
      /^second {2}RESEARCH by wren line 7\nsecond thoughts\nCUSTOM_ID +second\nAGENT +wren\n\nWhat was ␛\[31msaid\.\n\nLog\n.*too thin\n$/,
    );
    expect(await ok(["board", "show", "hello-world"], around)).toBe(
      "hello-world  ASSIGNED not claimed line 5\nhello world — one story through the whole pipeline\n\nA lead.\n",
    );
  });

  it("has an answer where there are no tasks", async () => {
    const repo = new Repository("#+TODO: ASSIGNED | DONE\n");
    const around = { cwd: repo.top };
    expect(await ok(["board", "ls"], around)).toBe("no tasks\n");
    expect(await json(["board", "ls"], around)).toEqual({
      ...{ board: repo.board, states: ["ASSIGNED", "DONE"], final: ["DONE"], tasks: [] },
    });
    const next = ["board", "next", "--agent", "moss"];
    expect(await ok(next, around)).toBe("nothing to take\n");
    expect(await json(next, around)).toEqual({ task: null });
    const must = await cli([...next, "--json", "--exit-code"], around);
    expect(must).toEqual({ status: 1, stdout: '{"task":null}\n', stderr: "" });
    expect(await ok(["board", "audit"], around)).toContain("1 commit, 0 claims");
    expect((await cli(["board", "show", "x"], around)).stderr).toContain("see: viv board ls");
  });

  it("ls and next print the same columns", async () => {
    const repo = new Repository(NEWSROOM);
    const rows = async (...args: string[]) =>
      (await ok(["board", ...args], { cwd: repo.top }))
        .trimEnd()
        .split("\n")
        .map((line) => line.split(/ {2,}/));
    const [, second] = await rows("ls");
    expect(second).toEqual(["second", "WRITING", "-", "second thoughts"]);
    expect(await rows("next", "--agent", "wren", "--state", "WRITING")).toEqual([second]);
    expect(await rows("ls", "--state", "WRITING,EDIT")).toHaveLength(2);
  });

  it("next shows an agent's own task first, and no task of another", async () => {
    const repo = new Repository();
    const next = async (...args: string[]) =>
      (await json<{ task: { slug: string } | null }>(["board", "next", ...args], { cwd: repo.top }))
        .task?.slug ?? null;
    expect(await next("--agent", "wren", "--state", "EDIT")).toBeNull();
    expect(await next("--agent", "hale", "--state", "EDIT")).toBe("third-time-lucky");
    expect(await next("--agent", "hale")).toBe("third-time-lucky");
    expect(await next("--agent", "wren")).toBe("hello-world");
    expect(await next("--agent", "wren", "--state", "EDIT,WRITING")).toBe("second");
    const none = ["board", "next", "--agent", "wren", "--state", "EDIT", "--exit-code"];
    expect((await cli(none, { cwd: repo.top })).status).toBe(1);
    // Sent back to the working state, it is found by `next` of the state before it.
    await ok(["board", "claim", "second", "--agent", "wren"], { cwd: repo.top });
    await ok(["board", "bounce", "second", "--agent", "wren", "--note", "thin"], { cwd: repo.top });
    await ok(["board", "claim", "hello-world", "--agent", "kim"], { cwd: repo.top });
    expect(await next("--agent", "moss", "--state", "ASSIGNED")).toBe("second");
  });

  it("keeps CRLF, the mode, other files' changes, and every other byte", async () => {
    const crlf = Buffer.from(
      NEWSROOM.replaceAll("\n", "\r\n").replace("A lead.", "A \xff lead."),
      "latin1",
    );
    const repo = new Repository(null, "desk/the board.org");
    mkdirSync(`${repo.top}/desk`);
    repo.write(crlf);
    chmodSync(repo.board, 0o755);
    writeFileSync(`${repo.top}/other.txt`, "one\n");
    repo.commit("desk: the board");
    writeFileSync(`${repo.top}/other.txt`, "two\n");
    writeFileSync(`${repo.top}/staged.txt`, "new\n");
    repo.git("add", "staged.txt");
    const around = { cwd: "/", env: { VIV_BOARD: repo.board, VIV_AGENT: "wren" } };
    await ok(["board", "claim", "second", "--role", "prose"], around);
    expect(readFileSync(repo.board).toString("latin1")).toBe(
      crlf
        .toString("latin1")
        .replace(":CUSTOM_ID: second\r\n", ":CUSTOM_ID: second\r\n:AGENT: wren\r\n"),
    );
    expect(repo.subjects()[0]).toBe("prose: claim second");
    expect(repo.git("ls-tree", "HEAD", "desk/")).toMatch(/^100755/);
    expect(repo.git("show", "--stat", "--format=", "HEAD")).toMatch(
      /^ desk\/the board.org .*\n 1 file changed/,
    );
    expect(repo.git("status", "--porcelain")).toBe(" M other.txt\nA  staged.txt");
  });

  it("works in a linked worktree, with converted line ends, and without an identity", async () => {
    for (const role of ["AUTHOR", "COMMITTER"]) {
      for (const key of ["NAME", "EMAIL"]) vi.stubEnv(`GIT_${role}_${key}`, undefined);
    }
    vi.stubEnv("EMAIL", undefined);
    vi.stubEnv("GIT_CONFIG_GLOBAL", "/dev/null");
    vi.stubEnv("GIT_CONFIG_SYSTEM", "/dev/null");
    onTestFinished(() => void vi.unstubAllEnvs());
    const repo = new Repository();
    repo.git("config", "--unset", "user.name");
    repo.git("config", "--unset", "user.email");
    repo.git("config", "core.autocrlf", "true");
    const tree = `${repo.top}/.tree`;
    repo.git("worktree", "add", "-q", "-b", "side", tree);
    expect(readFileSync(`${tree}/board.org`, "utf8")).toContain("\r\n");
    const before = repo.head;
    await ok(["board", "claim", "second", "--agent", "wren", "--board", `${tree}/board.org`]);
    expect(repo.head).toBe(before);
    expect(repo.git("log", "-1", "--format=%an <%ae> %s", "side")).toBe(
      "wren <wren@localhost> write: claim second",
    );
    expect(readFileSync(`${tree}/board.org`, "utf8")).toContain(":AGENT: wren\r\n");
    expect(repo.git("show", "side:board.org")).not.toContain("\r");
    expect(repo.git("-C", tree, "status", "--porcelain")).toBe("");
  });

  it("follows #+CLAIM: and #+PREFIX: lines", async () => {
    const text =
      "#+TODO: DRAFT REVIEW | DONE DROPPED\n#+CLAIM: DRAFT DRAFT\n#+PREFIX: DRAFT prose\n* DRAFT a\n* REVIEW b\n";
    const repo = new Repository(text);
    const around = { cwd: repo.top, env: { VIV_AGENT: "kim" } };
    await ok(["board", "claim", "a"], around);
    await ok(["board", "claim", "b"], around);
    await ok(["board", "advance", "a"], around);
    await ok(["board", "advance", "b", "--to", "DROPPED"], around);
    expect(repo.subjects().slice(0, 4)).toEqual([
      "dropped: b — DROPPED",
      "prose: a — REVIEW",
      "review: claim b",
      "prose: claim a",
    ]);
  });

  it("audits commits made by hand: lists those that broke the protocol", async () => {
    const repo = new Repository();
    const around = { cwd: repo.top };
    const drawer = ":PROPERTIES:\n:AGENT: moss\n:END:\n";
    const title = "hello world — one story through the whole pipeline\n";
    repo.edit(
      `ASSIGNED ${title}`,
      `RESEARCH ${title}${drawer}`,
      "research: claim hello-world",
      "moss",
    );
    repo.edit("A lead.", "A lead, and what moss found.", "research: notes", "moss");
    repo.edit(
      `RESEARCH ${title}${drawer}`,
      `WRITING ${title}`,
      "research: hello-world — 9 facts",
      "moss",
    );
    expect(await ok(["board", "audit"], around)).toContain(
      "4 commits, 2 claims: all by the protocol",
    );
    repo.edit(":AGENT: hale", ":AGENT: wren", "edit: claim third-time-lucky", "wren");
    repo.edit("A lead, and", "A lead;", "write: hello-world", "wren");
    repo.edit(`WRITING ${title}`, `EDIT ${title}`, "write: hello-world — done", "wren");
    repo.edit(":AGENT: wren", ":AGENT: wren\n:BY: moss", "research: what is this", "moss");
    const said = await cli(["board", "audit", "--json"], around);
    const { findings } = JSON.parse(said.stdout) as { findings: Record<string, string>[] };
    expect(said.status).toBe(1);
    expect(findings.map(({ code, slug, agent, author }) => [code, slug, agent, author])).toEqual([
      ["taken_over", "third-time-lucky", "wren", "wren"],
      ["not_claimed", "hello-world", "wren", "wren"],
      ["foreign_edit", "third-time-lucky", "moss", "moss"],
    ]);
    expect((await cli(["board", "audit"], around)).stdout).toContain("3 broke the protocol");
  });

  it("audits merges: a task that was claimed on both branches", async () => {
    const repo = new Repository();
    repo.git("switch", "-qc", "side");
    await ok(["board", "claim", "second", "--agent", "wren"], { cwd: repo.top });
    repo.git("switch", "-q", "main");
    await ok(["board", "claim", "second", "--agent", "kim"], { cwd: repo.top });
    expect(repo.ask("merge", "side").status).toBe(1);
    repo.write(repo.read().replace(/<<<<<<<[\s\S]*>>>>>>>.*\n/, ":AGENT: lee\n"));
    repo.commit("merged");
    const said = await cli(["board", "audit", "--json"], { cwd: repo.top });
    expect(JSON.parse(said.stdout)).toMatchObject({
      findings: [
        { code: "taken_over", slug: "second", agent: "lee" },
        { code: "untyped", slug: "second" },
        { code: "merged_claims", slug: "second" },
      ],
    });
  });
});
