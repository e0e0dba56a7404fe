import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../support/folders.ts";
import { cli, json, ok, type Surroundings, viv } from "./support.ts";

/** `viv enqueue --jsonl FILE|-`: many tasks, one per line. */

let folder: string;
let run: string;
let around: Surroundings;

beforeEach(async () => {
  folder = newFolder();
  run = join(folder, "run");
  around = { cwd: folder, env: { VIV_RUN: run } };
  await ok(["init"], { cwd: folder });
});

const stream = (stdin: string | Iterable<Uint8Array | string>, ...more: string[]) =>
  cli(["enqueue", "--jsonl", "-", ...more], { ...around, stdin });
const pending = () => readdirSync(join(run, "pending")).sort();
const task = (id: string, state = "pending") =>
  JSON.parse(readFileSync(join(run, `${state}/${id}.json`), "utf8"));
const lines = (...objects: object[]) => objects.map((o) => `${JSON.stringify(o)}\n`).join("");

describe("a stream", () => {
  it("of 6,000 lines through a pipe", () => {
    let input = "";
    for (let i = 0; i < 6_000; i++) {
      input += `{"type":"job","id":"t.${i}","payload":{"n":${i}}${i % 4 === 3 ? `,"depends_on":["t.${i - 1}"]` : ""}}\n`;
    }
    const args = ["enqueue", "--run", run, "--jsonl", "-", "--durability", "fast"];
    expect(viv([...args, "--json"], { input })).toEqual({
      status: 0,
      stdout: '{"enqueued":6000,"pending":4500,"waiting":1500,"existed":0}\n',
      stderr: "",
    });
    expect(readdirSync(join(run, "pending"))).toHaveLength(4_500);
    expect(readdirSync(join(run, "waiting"))).toHaveLength(1_500);
    expect(task("t.5998").payload).toEqual({ n: 5_998 });
    // The same again: what is there already is no error, and nothing changes.
    expect(viv([...args, "--if-absent", "--json"], { input }).stdout).toBe(
      '{"enqueued":0,"pending":0,"waiting":0,"existed":6000}\n',
    );
    // First come, first served.
    const claimed = viv(["claim", "--run", run, "--worker", "w", "--max", "6", "--json"]).stdout;
    const ids = claimed
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).task_id);
    expect(ids).toEqual(["t.0", "t.1", "t.2", "t.4", "t.5", "t.6"]);
  });

  it("that is not UTF-8 is refused with its line, also where it is cut within a character", async () => {
    const good = Buffer.from(lines({ type: "a", id: "t.1", payload: { x: "\ufffd" } }));
    const cut = Buffer.from('{"type":"a","id":"t.2"}é');
    for (const bad of [
      Buffer.from('{"type":"a","id":"t.2","payload":{"x":"\xe9"}}\n', "latin1"),
      cut.subarray(0, -1),
    ]) {
      for (const chunks of [[Buffer.concat([good, bad])], [good, bad]]) {
        expect(await stream(chunks, "--if-absent")).toMatchObject({
          ...{ status: 2, stderr: expect.stringContaining("line 2: it is not UTF-8.") },
        });
        expect(pending()).not.toContain("t.2.json");
      }
    }
    expect(
      (
        await stream(
          [...Buffer.concat([good])].map((byte) => Buffer.of(byte)),
          "--if-absent",
        )
      ).status,
    ).toBe(0);
    expect(task("t.1").payload).toEqual({ x: "\ufffd" });
  });

  it("that is not UTF-8 is refused with the right line, wherever its pieces begin", async () => {
    const text = '{"type":"a","payload":{"x":"é"}}\n';
    const bad = Buffer.from('{"type":"a","payload":{"x":"\xe9"}}\n', "latin1");
    const all = Buffer.concat([Buffer.from(text.repeat(4)), bad, Buffer.from(text)]);
    const within = all.indexOf("é") + 1;
    for (const at of [
      within,
      within + Buffer.byteLength(text),
      all.indexOf(bad) + bad.indexOf(0xe9) + 1,
    ]) {
      expect(await stream([all.subarray(0, at), all.subarray(at)]), `cut at ${at}`).toMatchObject({
        ...{ status: 2, stderr: expect.stringContaining("line 5: it is not UTF-8.") },
      });
    }
  });

  it("keeps a byte order mark that is not at its begin", async () => {
    const text = '\ufeff{"type":"a","id":"t.1"}\n\ufeff{"type":"a","id":"t.2"}\n';
    expect(await stream([Buffer.from(text)])).toMatchObject({
      ...{ status: 2, stderr: expect.stringContaining("line 2: ") },
    });
  });

  it("says in people's words how many, and where they are", async () => {
    const said = await stream(lines({ type: "a", id: "t.1" }, { type: "a", depends_on: ["t.1"] }));
    expect(said).toEqual({
      status: 0,
      stdout: "enqueued 2 (1 pending, 1 waiting)\n",
      stderr: "",
    });
  });

  it("may have CRLF, blank lines, a byte order mark, and no line break at its end", async () => {
    const text =
      '\ufeff{"type":"a","id":"t.1"}\r\n\r\n   \n\n{"type":"a","id":"t.2"}\r\n{"type":"a","id":"t.3"}';
    expect(await stream(text)).toMatchObject({ status: 0, stderr: "" });
    expect(pending()).toEqual(["t.1.json", "t.2.json", "t.3.json"]);
  });

  it("may come in pieces that cut through lines and characters", async () => {
    const bytes = Buffer.from(lines({ type: "a", id: "t.1", payload: { text: "日本 🎉" } }));
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(await stream(pieces)).toMatchObject({ status: 0 });
    expect(task("t.1").payload).toEqual({ text: "日本 🎉" });
  });

  it("may be empty", async () => {
    expect(await stream("")).toMatchObject({
      status: 0,
      stdout: "enqueued 0 (0 pending, 0 waiting)\n",
    });
    expect(await json(["enqueue", "--jsonl", "-"], { ...around, stdin: "\n\n" })).toEqual({
      enqueued: 0,
      pending: 0,
      waiting: 0,
      existed: 0,
    });
  });

  it("may be a file, named from here", async () => {
    writeFileSync(join(folder, "tasks.jsonl"), lines({ type: "a", id: "t.1" }));
    await ok(["enqueue", "--jsonl", "tasks.jsonl"], around);
    expect(pending()).toEqual(["t.1.json"]);
  });

  it("that cannot be read says which and why", async () => {
    for (const file of ["nope.jsonl", "."]) {
      const said = await cli(["enqueue", "--jsonl", file], around);
      expect(said).toMatchObject({ status: 2, stdout: "" });
      expect(said.stderr).toMatch(new RegExp(`^viv: cannot read ${folder}[^\\n]+\\n$`));
    }
  });

  it("has no flags beside it that belong to one task", async () => {
    for (const flag of ["--type=a", "--id=t.1", "--payload={}", "--review", "--priority=low"]) {
      const said = await stream(lines({ type: "a" }), flag);
      const name = flag.replace(/=.*/, "");
      expect(said.stderr).toBe(`viv: ${name} does not go with --jsonl: put it into each line.\n`);
      expect(said.status).toBe(2);
    }
  });

  it("of a handler has the handler's task as parent, as one task would", async () => {
    around.env = { VIV_RUN: run, VIV_TASK_ID: "t.0" };
    await stream(lines({ type: "a", id: "t.1" }));
    expect(task("t.1").parent).toBe("t.0");
  });
});

describe("a line", () => {
  it("has our keys or swarm-lib's, and keeps keys that are neither", async () => {
    const said = await stream(
      lines(
        {
          task_id: "t.1",
          task_type: "a",
          run_id: "elsewhere",
          created_at: "2020-01-01T00:00:00Z",
          created_by: "pia",
          depends_on: [],
          payload: { n: 1 },
          tier_hint: null,
          deadline: null,
          x_mine: { deep: [1] },
          constructor: "kept",
        },
        {
          id: "t.2",
          type: "a",
          priority: "high",
          depends_on: ["t.1"],
          not_before: "2030-01-01T00:00:00Z",
          done_when: "true",
          review: true,
          max_attempts: 3,
          timeout: 90,
        },
      ),
    );
    expect(said).toMatchObject({ status: 0, stderr: "" });
    expect(task("t.1")).toMatchObject({
      task_id: "t.1",
      run_id: "run",
      created_by: "pia",
      payload: { n: 1 },
      x_mine: { deep: [1] },
      constructor: "kept",
    });
    expect(task("t.1").created_at).not.toBe("2020-01-01T00:00:00Z");
    expect(task("t.2", "waiting")).toMatchObject({
      priority: "high",
      done_when: "true",
      review: true,
      max_attempts: 3,
      timeout: "90s",
    });
  });

  it('keeps a key that is called "extra"', async () => {
    await stream(lines({ type: "a", id: "t.1", extra: { mine: 1 } }));
    expect(task("t.1").extra).toEqual({ mine: 1 });
  });

  it.each([
    ["typ", "type"],
    ["depend_on", "depends_on"],
    ["prioriy", "priority"],
    ["taskid", "task_id"],
    ["notbefore", "not_before"],
  ])("with the key %s is refused: did you mean %s?", async (key, meant) => {
    const said = await stream(lines({ type: "a", id: "t.1", [key]: "x" }));
    expect(said.stderr).toBe(`viv: line 1: unknown key "${key}"; did you mean "${meant}"?\n`);
    expect(said.status).toBe(2);
    expect(pending()).toEqual([]);
  });

  const DEEP = `{"type":"a","payload":{"n":${"[".repeat(10_000)}${"]".repeat(10_000)}}}`;
  it.each<[what: string, line: string, status: number, message: RegExp]>([
    ["half a line", "{", 2, /is not valid JSON/],
    ["a word", "nope", 2, /is not valid JSON/],
    ["a list", "[]", 2, /must be a JSON object/],
    ["null", "null", 2, /must be a JSON object/],
    ["a string", '"text"', 2, /must be a JSON object/],
    ["no type", "{}", 2, /needs a type/],
    ["a number as type", '{"type":5}', 2, /type must be a string/],
    ["a list as payload", '{"type":"a","payload":[]}', 2, /payload must be a JSON object/],
    ["a string as payload", '{"type":"a","payload":"{}"}', 2, /payload must be a JSON object/],
    ["a string as list", '{"type":"a","depends_on":"b"}', 2, /depends_on/],
    ["an unknown priority", '{"type":"a","priority":"urgent"}', 2, /priority/],
    ["no attempts", '{"type":"a","max_attempts":0}', 2, /max_attempts/],
    ["no time", '{"type":"a","not_before":"soon"}', 2, /not_before "soon" is not a time/],
    ["a path as id", '{"type":"a","id":"a/b"}', 2, /task id "a\/b"/],
    ["a huge number", '{"type":"a","payload":{"n":12345678901234567890}}', 2, /would lose digits/],
    ["10,000 levels", DEEP, 2, /deeper than 500/],
    ["itself as dependency", '{"type":"a","id":"s","depends_on":["s"]}', 4, /depends on itself/],
    ["an id that is taken", '{"type":"a","id":"t.1"}', 4, /t\.1 is there already: pending/],
  ])(
    "with %s is refused with its number, and nothing after it is taken",
    async (_, bad, status, message) => {
      const good = lines({ type: "a", id: "t.1" }, { type: "a", id: "t.2" });
      const said = await stream(`${good}\n${bad}\n${lines({ type: "a", id: "t.9" })}`);
      const sentence = said.stderr.split("\n").at(-2);
      expect(sentence).toMatch(/^viv: line 4: /);
      expect(sentence).toMatch(message);
      expect(said).toMatchObject({ status, stdout: "" });
      expect(pending()).not.toContain("t.9.json");
    },
  );

  it("that is refused leaves those before it where they are", async () => {
    const good = lines({ type: "a", id: "t.1" }, { type: "a", id: "t.2" });
    const said = await stream(good + lines({ type: "a", id: "a/b" }, { type: "a", id: "t.3" }));
    expect(said.status).toBe(2);
    expect(pending()).toEqual(["t.1.json", "t.2.json"]);
    const again = await stream(good + lines({ type: "a", id: "t.3" }), "--if-absent");
    expect(again.stdout).toBe("enqueued 1 (1 pending, 0 waiting, 2 there already)\n");
  });

  it("that is not even JSON does so too", async () => {
    await stream(`${lines({ type: "a", id: "t.1" }, { type: "a", id: "t.2" })}nope\n`);
    expect(pending()).toEqual(["t.1.json", "t.2.json"]);
  });

  it("far into the stream has the right number too, and the rest can be sent again", async () => {
    const all = Array.from({ length: 1_500 }, (_, i) => ({ type: "a", id: `t.${i}` }));
    const broken = `${lines(...all.slice(0, 1_200))}oops\n${lines(...all.slice(1_200))}`;
    const said = await stream(broken, "--durability", "fast");
    expect(said).toMatchObject({ status: 2, stdout: "" });
    expect(said.stderr).toContain("viv: line 1201: it is not valid JSON");
    expect(said.stderr).toContain("--if-absent skips them next time");
    expect(pending()).toHaveLength(1_200);
    const again = await stream(lines(...all), "--durability", "fast", "--if-absent", "--json");
    expect(JSON.parse(again.stdout)).toEqual({
      enqueued: 300,
      pending: 300,
      waiting: 0,
      existed: 1_200,
    });
  });

  it("that is wrong is one JSON object on stderr with --json", async () => {
    const said = await stream(
      `${lines({ type: "a", id: "t.1" })}{"type":"a","id":"t.1"}\n`,
      "--json",
    );
    expect(said).toMatchObject({ status: 4, stdout: "" });
    expect(JSON.parse(said.stderr)).toMatchObject({
      error: { code: "TASK_EXISTS", line: 2, state: "pending" },
    });
  });

  it("may depend on a later one, but not in a circle", async () => {
    const said = await stream(
      lines({ type: "a", id: "t.1", depends_on: ["t.2"] }, { type: "a", id: "t.2" }),
    );
    expect(said).toMatchObject({ status: 0 });
    const circle = await stream(
      lines(
        { type: "a", id: "c.1", depends_on: ["c.2"] },
        { type: "a", id: "c.2", depends_on: ["c.1"] },
      ),
    );
    expect(circle.status).toBe(4);
    expect(circle.stderr).toContain("line 2: c.2 would close a dependency cycle: c.2 → c.1 → c.2");
  });
});
