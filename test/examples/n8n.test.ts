import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { environment, Running, viv } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { Workflow } from "../support/n8n-workflow.ts";
import { EXAMPLES, Example, edit } from "./example.ts";

/**
 * The requests that the workflow files' nodes say, to a real `viv up`; n8n itself does it in
 * test/vendors/n8n.vendors.ts.
 */
async function fleet() {
  const { folder } = new Example("n8n");
  const env = { VIV_STATE: join(folder, "state"), PATH: environment().PATH ?? "" };
  edit(join(folder, "viv.toml"), "port = 4747", "port = 0");
  edit(join(folder, "viv.toml"), "timeout =", "max_attempts = 1\ntimeout =");
  // It ends when the test says so.
  edit(
    join(folder, "digest.sh"),
    "set -eu\n",
    "set -eu\nuntil [ -e go ]; do sleep 0.05; done\n[ ! -e break ]\n",
  );
  const up = new Running(["up"], { cwd: folder, env });
  await up.says('"kind":"ready"');
  const address = /"kind":"ready".*"address":"([^"]+)"/.exec(up.stdout)?.[1] ?? "";
  const token = viv(["token"], { cwd: folder, env }).stdout.trim();
  const isIn = (state: string) => existsSync(join(folder, "run", state, `${ID}.json`));
  const ended = () => until("the task has ended", () => isIn("done") || isIn("failed"));
  const stop = async () => {
    up.child.kill("SIGINT");
    expect(await up.end()).toMatchObject({ status: 0 });
  };
  const put = (name: string) => writeFileSync(join(folder, name), "");
  return { address, authorization: `Bearer ${token}`, ended, stop, put };
}

const ID = "digest-2026-11-18-7";
const file = (name: string) => new Workflow(join(EXAMPLES, "n8n", name));

describe("examples/n8n", () => {
  it("enqueues, looks until it is done, and fetches the artifact; once, also if it is tried again", async () => {
    const { put, ended, stop, ...at } = await fleet();
    const wait = async (count: number) => {
      if (count === 1) return; // then it is not done yet
      put("go");
      await ended();
    };
    const workflow = file("enqueue-and-fetch.json");
    const artifact = { artifact: "# tea\n\nAll that is new about tea.\n" };
    expect(await workflow.run("Start", {}, { ...at, wait })).toEqual(artifact);
    const loop = ["Wait", "Look", "State"];
    expect(workflow.visited).toEqual(["Start", "Enqueue", ...loop, ...loop, "Artifact"]);

    const again = file("enqueue-and-fetch.json");
    expect(await again.run("Start", {}, { ...at, wait: async () => {} })).toEqual(artifact);
    const status = await fetch(`${at.address}/api/status`);
    expect(await status.json()).toMatchObject({ counts: { done: 1, pending: 0 } });

    const stranger = { ...at, authorization: "Bearer nonsense", wait };
    await expect(file("enqueue-and-fetch.json").run("Start", {}, stranger)).rejects.toThrow(
      "401: {",
    );
    await stop();
  });

  it("stops with an error when the task failed", async () => {
    const { put, ended, stop, ...at } = await fleet();
    put("break");
    put("go");
    const wait = ended;
    await expect(file("enqueue-and-fetch.json").run("Start", {}, { ...at, wait })).rejects.toThrow(
      `${ID} is failed; see: viv why ${ID}`,
    );
    await stop();
  });

  it("is started by the end of a task: an event without a name", async () => {
    const { put, ended, stop, ...at } = await fleet();
    const workflow = file("when-a-task-ends.json");
    const [trigger] = workflow.nodes;
    const { pathname, search } = new URL(String(trigger?.parameters.url));
    const events = await fetch(`${at.address}${pathname}${search}`);
    put("go");
    const around = { ...at, wait: ended };
    const artifact = await file("enqueue-and-fetch.json").run("Start", {}, around);
    const message = await firstMessage(events);
    expect(message).toMatchObject({ event: "ended", task: ID, to: "done" });
    expect(await workflow.run(trigger?.name ?? "", message, around)).toEqual(artifact);
    await stop();
  });
});

/** As a client that knows only `onmessage`. */
async function firstMessage({ body }: Response): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of body as ReadableStream<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    for (const block of text.split("\n\n").slice(0, -1)) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined && !/^event:/m.test(block)) return JSON.parse(data);
    }
  }
  throw new Error(`the stream ended: ${text}`);
}
