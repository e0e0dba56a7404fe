import { expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { CappedText } from "./capped-text.ts";
import { runShell, type ShellOptions } from "./tools.ts";

const run = (command: string, more: Partial<ShellOptions> = {}) =>
  runShell(command, {
    cwd: newFolder(),
    env: { PATH: process.env.PATH },
    timeoutMs: 30_000,
    limitBytes: 1_000,
    signal: new AbortController().signal,
    ...more,
  });

test("output and exit status", async () => {
  expect(await run("echo out; echo err >&2; exit 7")).toMatchObject({
    exit: 7,
    signal: null,
    isTimedOut: false,
    output: expect.stringMatching(/^(out\nerr|err\nout)\n$/),
  });
  expect(await run("kill -9 $$")).toMatchObject({ exit: null, signal: "SIGKILL" });
  expect((await run("cat; tty")).output).toContain("not a tty"); // and no input to wait for
});

test("a flood keeps its beginning and its end, and takes no memory", async () => {
  const { output } = await run("echo begin; seq 300000; echo end");
  expect(output).toMatch(/^begin\n1\n.*\[\.\.\. \d+ bytes left out \.\.\.\]\n.*300000\nend\n$/s);
  expect(output.length).toBeLessThan(1_100);
});

test("does not wait for processes in the background", async () => {
  const { exit, output } = await run("sleep 1000 & echo $!");
  expect(exit).toBe(0);
  process.kill(Number(output), "SIGKILL"); // it was left alone
});

test("an abort ends it", async () => {
  const stop = new AbortController();
  const running = run("sleep 1000", { signal: stop.signal });
  stop.abort();
  expect(await running).toMatchObject({ signal: "SIGKILL", isTimedOut: false });
  expect(await run("sleep 1000", { signal: stop.signal })).toMatchObject({ signal: "SIGKILL" });
});

test("a missing folder is an error", async () => {
  await expect(run("true", { cwd: "/nowhere" })).rejects.toThrow("ENOENT");
});

test("capped text in any pieces is the same", () => {
  const text = "0123456789".repeat(20);
  for (const size of [1, 3, 7, 50, 500]) {
    const said = new CappedText(40);
    for (let at = 0; at < text.length; at += size)
      said.push(Buffer.from(text.slice(at, at + size)));
    expect(said.toString()).toBe(
      "01234567890123456789\n[... 160 bytes left out ...]\n01234567890123456789",
    );
  }
  const short = new CappedText(4);
  for (const piece of ["ä", "ö"]) short.push(Buffer.from(piece));
  expect(short.toString()).toBe("äö");
});
