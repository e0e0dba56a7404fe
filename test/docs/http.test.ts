import { execFile } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { environment, Running, viv } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";

/** The commands of docs/http.md, as pasted, to a real `viv up`. */

const text = readFileSync(join(import.meta.dirname, "../../docs/http.md"), "utf8");
const run = promisify(execFile);

function block(language: string, word: string): string {
  const all = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  const found = all.find(([, its, body]) => its === language && body?.includes(word))?.[2];
  if (found === undefined) throw new Error(`docs/http.md has no ${language} with ${word}`);
  return found;
}

it("docs/http.md: enqueue, wait and fetch with Python and with curl; many tasks", async () => {
  const cwd = newFolder();
  const write = (name: string, content: string) => writeFileSync(join(cwd, name), content);
  const script = (name: string, content: string) => {
    write(name, `#!/bin/sh\n${content}\n`);
    chmodSync(join(cwd, name), 0o755);
  };
  script("viv", `exec "${process.execPath}" "${join(DIST, "viv.cjs")}" "$@"`);
  script("digest.sh", 'cat >/dev/null\necho "# $VIV_TASK_ID" >"$VIV_ARTIFACT_PATH"');
  write(
    "viv.toml",
    'run = "run"\n[server]\nport = 0\n[handlers.default]\nhandler = "./digest.sh"\n',
  );
  write("tasks.jsonl", '{"type":"digest","id":"many-1"}\n{"type":"digest","id":"many-2"}\n');
  const PATH = `${cwd}:${environment().PATH}`;
  const env = { PATH, VIV_STATE: join(cwd, "state") };
  const up = new Running(["up"], { cwd, env });
  onTestFinished(async () => {
    up.child.kill("SIGTERM");
    await up.end();
  });
  await up.says('"kind":"ready"');
  const address = /"kind":"ready".*"address":"([^"]+)"/.exec(up.stdout)?.[1] ?? "";
  const typed = async (program: string, code: string) => {
    const here = code.replace("http://127.0.0.1:4747", address);
    return (await run(program, ["-c", here], { cwd, env })).stdout;
  };
  const isDone = (id: string) => () =>
    viv(["show", id, "--json"], { cwd, env }).stdout.includes('"state":"done"');

  expect(await typed("python3", block("python", "urllib"))).toBe("# news-1\n\n");

  const curl = block("sh", "-d '{").replaceAll("news-1", "news-2").trimEnd().split("\n");
  const [last = ""] = curl.slice(-1);
  expect(await typed("bash", curl.slice(0, -1).join("\n"))).toContain('"id":"news-2"');
  await until("it is done", isDone("news-2"));
  expect(await typed("bash", `${curl[0]}\n${last}`)).toBe("# news-2\n");

  const [lines = ""] = block("sh", "ndjson").split("\n"); // the other follows without an end
  expect(await typed("bash", `${curl[0]}\n${lines}`)).toContain('"enqueued":2');
  await until("the last is done", isDone("many-2"));
});
