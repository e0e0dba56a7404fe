import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join, normalize } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { openRun } from "../../src/main.ts";
import type { Store } from "../../src/queue/store.ts";
import { newFolder } from "../support/folders.ts";
import { cli, json, ok, type Surroundings } from "./support.ts";

/** `viv export`, on real runs; the redaction and the folder are in src/overview/export/. */

let folder: string;
let around: Surroundings;
beforeEach(async () => {
  folder = newFolder();
  const env = { HOME: folder, VIV_STATE: join(folder, "state"), USER: "ida", DEPLOY_TOKEN: SECRET };
  around = { cwd: folder, env };
  await ok(["init", "run"], around);
});

const SECRET = "h0rse-battery-staple";
const KEY = `sk-${"Zz9".repeat(10)}`;
const site = () => join(folder, "site");
const exported = (...args: string[]) =>
  json<{ dir: string; files: number; tasks: number; task_pages: number; bytes: number }>(
    ["export", "--html", "site", ...args],
    around,
  );

async function onRun<T>(act: (store: Store) => Promise<T>): Promise<T> {
  const store = await openRun(join(folder, "run"), { durability: "fast" });
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

function pages(): Map<string, string> {
  const names = readdirSync(site(), { recursive: true }).map(String);
  const files = names.filter((name) => statSync(join(site(), name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(site(), name), "utf8")]));
}

/** Each is of the export, and there. */
function expectLinksToResolve(all: ReadonlyMap<string, string>): void {
  for (const [name, text] of all) {
    for (const [, link = ""] of text.matchAll(/(?:href|src)="([^"]*)"/g)) {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? name : normalize(join(dirname(name), path));
      expect(all.has(target), `${name} links to ${link}`).toBe(true);
      if (anchor) expect(all.get(target), `${name} links to ${link}`).toContain(`id="${anchor}"`);
    }
  }
}

describe("viv export", () => {
  it("writes the report, the board and a page for each task; all links resolve", async () => {
    await onRun(async (store) => {
      await store.enqueue({
        id: "t.1",
        type: "fix",
        done_when: "true",
        payload: { title: "Mend it" },
      });
      await store.enqueue({ id: "t.2", type: "fix", depends_on: ["t.1"] });
      await store.enqueue({ id: "T.1", type: "fix", review: true });
      const [first] = await store.claim({ worker: "ada", types: ["fix"] });
      if (!first) throw new Error("nothing was claimed");
      await store.artifacts.write("t.1.md", "# Mended\n");
      await store.fail(first, { note: "exit 1", final: true });
    });
    const { dir, files, tasks, task_pages, bytes } = await exported();
    expect({ dir, tasks, task_pages }).toEqual({ dir: site(), tasks: 3, task_pages: 3 });
    const all = pages();
    expect(all.size).toBe(files);
    expect([...all.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0)).toBe(bytes);
    expectLinksToResolve(all);
    const names = [...all.keys()].filter((name) => name.startsWith("tasks/t-1-"));
    expect(names).toHaveLength(2); // T.1 has a file of its own where case does not count
    const page = [...all].find(([, text]) => text.includes("Mend it</h1>"))?.[1];
    expect(page).toContain("# Mended");
    expect(page).toContain("attempt 1 by ada ended as failed: exit 1");
    expect(all.get("board.html")).toMatch(/Failed <span class="n">1</);
    expect(all.get("board.html")).toContain("waits for t.1, which failed");
    expect(all.get("index.html")).toMatch(/viv why t\.1</);
  });

  it("harms nobody with a hostile task, and gives nothing of this machine away", async () => {
    const hostile = `"><img src=x onerror=alert(1)><script>alert(1)</script>\u202e\u001b[31m\u0000 ' & ${KEY}`;
    await onRun(async (store) => {
      await store.enqueue({
        id: "evil",
        type: "fix",
        review: true,
        payload: { title: hostile, big: "x".repeat(300_000) },
      });
      const [claim] = await store.claim({ worker: `${hostname()}-7` });
      if (!claim) throw new Error("nothing was claimed");
      await store.artifacts.write(
        "evil.md",
        `${hostile}\n${folder}/run/artifacts/evil.md by ida with ${SECRET}\n`,
      );
      await store.artifacts.write(
        "evil.log",
        `${"no newline ".repeat(20_000)}${folder}/x javascript:alert(1)`,
      );
      await store.artifacts.write(
        "evil.proof.json",
        JSON.stringify({ command: hostile, output: { no: "text" } }),
      );
      await store.complete(claim, { note: hostile });
      await store.enqueue({ id: "linked", type: "fix" });
      symlinkSync("/etc/passwd", join(folder, "run/artifacts/linked.md"));
      mkdirSync(join(folder, "run/artifacts/linked.log"));
    });
    // As swarm-lib allows them: no page, and no harm.
    const odd = { task_id: "a b'\"<i>", task_type: "<b>", depends_on: [], payload: {} };
    writeFileSync(join(folder, "run/pending/a b'\"<i>.json"), JSON.stringify(odd));
    await exported("--payloads");
    const all = pages();
    expectLinksToResolve(all);
    for (const [name, text] of all) {
      if (!name.endsWith(".html")) continue;
      expect(text).toContain(`content="default-src 'none'; style-src 'self'`);
      expect(text).not.toMatch(
        /<(script|img|iframe|object|i|b)\b(?!>)|<script|<img|\sstyle=|\son\w+="/i,
      );
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be there
      expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/);
      for (const secret of [folder, KEY, SECRET, "root:x:0"]) expect(text).not.toContain(secret);
      expect(text).not.toMatch(/\bida\b/);
      expect(text).not.toContain(`${hostname()}-7`);
      expect(text).not.toMatch(/href="(?!\.\.\/|#|[\w/-]+\.(html|css))/);
    }
    const evil = [...all].find(([name]) => name.startsWith("tasks/evil-"))?.[1] ?? "";
    expect(evil).toContain("RUN/artifacts/evil.md by user with [redacted]");
    expect(evil).toContain("&lt;script&gt;");
    expect(evil.length).toBeLessThan(300_000);
  });

  it("leaves out what it is told to, and payloads unless asked for", async () => {
    await onRun(async (store) => {
      await store.enqueue({ id: "t.1", type: "fix", payload: { detail: "in-the-payload" } });
      await store.artifacts.write("t.1.md", "in-the-artifact");
      await store.artifacts.write("t.1.log", "in-the-log");
    });
    const found = async (...args: string[]) => {
      await exported(...args);
      const text = [...pages().values()].join("");
      return ["payload", "artifact", "log"].filter((word) => text.includes(`in-the-${word}`));
    };
    expect(await found()).toEqual(["artifact", "log"]);
    expect(await found("--no-artifacts", "--no-logs")).toEqual([]);
    expect(await found("--payloads", "--no-logs")).toEqual(["payload", "artifact"]);
  });

  it("divides long columns into pages; only the first tasks have one of their own, or all", async () => {
    await onRun((store) =>
      store.enqueueMany(
        Array.from({ length: 450 }, (_, i) => ({
          id: `t.${i}`,
          type: "fix",
          payload: { title: `Title ${i}` },
        })),
      ),
    );
    expect(await exported()).toMatchObject({ tasks: 450, task_pages: 200 });
    const all = pages();
    expectLinksToResolve(all);
    expect([...all.keys()].filter((name) => name.startsWith("board/")).sort()).toEqual(
      [1, 2, 3].map((n) => `board/ready-${n}.html`),
    );
    const shown = [1, 2, 3].flatMap(
      (n) => all.get(`board/ready-${n}.html`)?.match(/>Title \d+</g) ?? [],
    );
    expect(new Set(shown).size).toBe(450);
    expect(all.get("board/ready-3.html")).toContain("401 to 450 of 450");
    expect(await exported("--all-tasks")).toMatchObject({ task_pages: 450 });
    expectLinksToResolve(pages());
  });

  it("leaves the old export when it is stopped, and refuses a folder of others", async () => {
    await onRun((store) => store.enqueue({ id: "t.1", type: "fix" }));
    await exported();
    const before = pages();
    await onRun((store) =>
      store.enqueueMany(Array.from({ length: 60 }, (_, i) => ({ id: `u.${i}`, type: "fix" }))),
    );
    const stopped = await cli(["export", "--html", "site"], {
      ...around,
      signal: AbortSignal.abort(),
    });
    expect(stopped).toMatchObject({ status: 130, stdout: "" });
    expect(pages()).toEqual(before);
    expect(readdirSync(folder).filter((name) => name.startsWith(".site"))).toEqual([]);
    writeFileSync(join(site(), "mine.txt"), "mine");
    const refused = await cli(["export", "--html", "site"], around);
    expect(refused).toMatchObject({ status: 4, stdout: "" });
    expect(refused.stderr).toContain("mine.txt");
    expect((await cli(["export", "--html", ""], around)).status).toBe(2);
    expect((await cli(["export", "--html", "run/site"], around)).status).toBe(2);
  });
});
