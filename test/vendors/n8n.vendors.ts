import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findProgram } from "../../src/platform/processes/programs.ts";
import { environment, Running, viv } from "../cli/support.ts";
import { EXAMPLES, edit } from "../examples/example.ts";
import { until, within } from "../support/deadline.ts";

/** The real n8n, where there is one in PATH (tested: 2.8.4), with examples/n8n and a real `viv up`. */
const isThere = findProgram("n8n", process.env.PATH) !== null;

const FETCHED = { artifact: "# tea\n\nAll that is new about tea.\n" };

describe.skipIf(!isThere)(isThere ? "n8n" : "n8n: not installed", () => {
  it("enqueues and fetches the artifact; says what is wrong with the credential", async () => {
    const { n8n, use, stop } = await setUp();
    await use("nonsense");
    const refused = await n8n("execute", "--id=VivariumDigest01", "--rawOutput");
    expect(refused.status).toBe(1);
    expect(refused.said).toContain("the token is not the one of: viv token");
    await use();
    const { status, said } = await n8n("execute", "--id=VivariumDigest01", "--rawOutput");
    expect(status).toBe(0);
    const { data } = JSON.parse(said.slice(said.indexOf("\n{\n") + 1));
    expect(data.resultData.runData.Artifact[0].data.main[0][0].json).toEqual(FETCHED);
    await stop();
  });

  it("is started by the end of a task, also of one that ended after a restart of the fleet", async () => {
    const { n8n, start, fleet, use, stop, up, report } = await setUp();
    await use();
    expect((await n8n("publish:workflow", "--id=VivariumEnded001")).status).toBe(0);
    const program = start("start");
    await until(
      "n8n listens",
      () => {
        if (program.child.exitCode !== null) throw new Error(program.said());
        return program.said().includes("Activated workflow");
      },
      120,
    );
    const enqueue = (id: string) =>
      fleet("enqueue", "--type", "digest", "--id", id, "--payload", '{"topic":"tea"}');
    enqueue("a");
    await until("n8n has fetched it", () => report.length === 1);
    await stop();
    await up();
    enqueue("b");
    await until("n8n has fetched the other", () => report.length === 2, 60);
    expect(report).toEqual([FETCHED, FETCHED]);
    await stop();
  });
});

/** A fleet and an n8n, each with a folder of its own, that have imported the example. */
async function setUp() {
  const parent = process.env.VIV_VENDORS_WORK ?? join(homedir(), ".cache/vivarium/vendors-work");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "n8n-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const [port, report] = await reportServer();
  const [server, editor, broker] = await freePorts(3);
  const work = join(folder, "fleet");
  cpSync(join(EXAMPLES, "n8n"), work, { recursive: true });
  for (const name of ["viv.toml", "enqueue-and-fetch.json", "when-a-task-ends.json"])
    edit(join(work, name), "4747", String(server));
  addReport(join(work, "when-a-task-ends.json"), port);
  const env = { VIV_STATE: join(folder, "state"), PATH: environment().PATH ?? "" };
  let running: Running | undefined;
  const up = async () => {
    running = new Running(["up"], { cwd: work, env });
    await running.says('"kind":"ready"');
  };
  const stop = async () => {
    running?.child.kill("SIGINT");
    await running?.end();
  };
  await up();
  const fleet = (...args: string[]) => {
    const said = viv(args, { cwd: work, env });
    if (said.status !== 0) throw new Error(said.stderr);
    return said.stdout.trim();
  };
  const start = (...args: string[]) => new N8n(args, folder, { editor, broker });
  const n8n = async (...args: string[]) => start(...args).end();
  for (const name of ["enqueue-and-fetch", "when-a-task-ends"]) {
    const imported = await n8n("import:workflow", `--input=${join(work, `${name}.json`)}`);
    expect(imported, imported.said).toMatchObject({ status: 0 });
  }
  /** Imports the credential. */
  const use = async (token = fleet("token")) => {
    const path = join(folder, "credential.json");
    const data = { name: "Authorization", value: `Bearer ${token}` };
    const credential = { id: "VivariumToken001", name: "Vivarium", type: "httpHeaderAuth", data };
    writeFileSync(path, JSON.stringify([credential]), { mode: 0o600 });
    expect(await n8n("import:credentials", `--input=${path}`)).toMatchObject({ status: 0 });
  };
  return { n8n, start, fleet, up, stop, use, report };
}

class N8n {
  readonly child: ChildProcess;
  #said = "";

  /** It tells nobody, asks nobody for news, and has a database of its own. */
  constructor(args: string[], folder: string, ports: { editor?: number; broker?: number }) {
    const off = ["DIAGNOSTICS", "VERSION_NOTIFICATIONS", "TEMPLATES", "COMMUNITY_PACKAGES"];
    this.child = spawn("n8n", args, {
      cwd: folder,
      env: {
        ...{ PATH: process.env.PATH, HOME: folder, N8N_USER_FOLDER: folder },
        ...Object.fromEntries(off.map((name) => [`N8N_${name}_ENABLED`, "false"])),
        ...{ N8N_LISTEN_ADDRESS: "127.0.0.1", N8N_PORT: String(ports.editor) },
        N8N_RUNNERS_BROKER_PORT: String(ports.broker),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding("utf8").on("data", (text) => {
        this.#said += text;
      });
    onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  said(): string {
    return this.#said;
  }

  async end(): Promise<{ status: number; said: string }> {
    const [status] = await within("n8n has ended", once(this.child, "close"), 120);
    return { status, said: this.#said };
  }
}

/** One more node, that tells the test what came out. */
function addReport(path: string, port: number): void {
  const workflow = JSON.parse(readFileSync(path, "utf8"));
  workflow.nodes.push({
    ...{ id: "report", name: "Report", position: [660, 0] },
    ...{ type: "n8n-nodes-base.httpRequest", typeVersion: 4.2 },
    parameters: {
      ...{ method: "POST", url: `http://127.0.0.1:${port}/` },
      ...{ sendBody: true, specifyBody: "json", jsonBody: "={{ JSON.stringify($json) }}" },
      options: {},
    },
  });
  workflow.connections.Artifact = { main: [[{ node: "Report", type: "main", index: 0 }]] };
  writeFileSync(path, JSON.stringify(workflow));
}

async function reportServer(): Promise<[port: number, report: object[]]> {
  const report: object[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    report.push(JSON.parse(text));
    response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return [(server.address() as AddressInfo).port, report];
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}
