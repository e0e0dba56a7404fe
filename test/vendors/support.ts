import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { findProgram } from "../../src/platform/processes/programs.ts";
import { Running, type Said } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { type ModelServer, start } from "./server.mjs";

/**
 * The vendors' real programs with a home of their own and our model server. A server's mode is the
 * first part of the address that a program is given, so that each test has a model of its own.
 */

export const PROGRAMS = ["claude", "codex", "gemini", "opencode"] as const;
export type Program = (typeof PROGRAMS)[number];

/** These tests for each program; one that is not installed says so and is skipped. */
export function describeEach(tests: (program: Program) => void): void {
  for (const program of PROGRAMS) {
    const isThere = findProgram(program, process.env.PATH) !== null;
    const name = isThere ? program : `${program}: not installed`;
    describe.skipIf(!isThere)(name, () => tests(program));
  }
}

export const MODELS: Record<Program, string> = {
  claude: "haiku",
  codex: "test-model",
  gemini: "gemini-3.1-pro-preview",
  opencode: "test/test-model",
};

/** A home, a model server and all that was started with them, for one test file. */
export class Vendors {
  #folder = "";
  #server: ModelServer | undefined;
  #routes = 0;

  /** Made before the file's first test, and removed after its last one. */
  static forThisFile(): Vendors {
    const vendors = new Vendors();
    beforeAll(async () => {
      const parent =
        process.env.VIV_VENDORS_WORK ?? join(homedir(), ".cache/vivarium/vendors-work");
      mkdirSync(parent, { recursive: true });
      vendors.#folder = mkdtempSync(join(parent, "v-"));
      vendors.#server = await start({ log: join(vendors.#folder, "requests.jsonl") });
      vendors.#configure();
    });
    afterAll(async () => {
      await vendors.endProcesses();
      await vendors.#server?.stop();
      if (!process.env.VIV_VENDORS_KEEP)
        rmSync(vendors.#folder, { recursive: true, force: true, maxRetries: 5 });
    });
    return vendors;
  }

  get folder(): string {
    return this.#folder;
  }

  get home(): string {
    return join(this.#folder, "home");
  }

  get server(): ModelServer {
    if (this.#server === undefined) throw new Error("the server is there in tests only");
    return this.#server;
  }

  /** All that a program may know of the developer's environment is PATH. */
  get env(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? "",
      HOME: this.home,
      LANG: "C.UTF-8",
      VIV_STATE: join(this.#folder, "state"),
    };
  }

  #configure(): void {
    const write = (path: string, text: string) => {
      mkdirSync(join(this.home, path, ".."), { recursive: true });
      writeFileSync(join(this.home, path), text);
    };
    write(".gitconfig", "[user]\nname = Test\nemail = test@example.com\n");
    write(".codex/config.toml", codexConfig(this.server.url("ok"), []));
    // With an address of its own gemini would take the server for a gateway that it cannot log in to.
    write(".gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}}}');
    write(".config/opencode/opencode.json", JSON.stringify(OPENCODE));
  }

  /** Neither a welcome, nor a question about the key, nor about this folder. */
  trust(folder: string, mode: string): void {
    const project = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
    writeFileSync(
      join(this.home, ".claude.json"),
      JSON.stringify({
        ...{ hasCompletedOnboarding: true, theme: "dark", numStartups: 5 },
        customApiKeyResponses: { approved: ["test"], rejected: [] },
        projects: { [folder]: project },
      }),
    );
    writeFileSync(
      join(this.home, ".codex/config.toml"),
      codexConfig(this.server.url(mode), [folder]),
    );
  }

  /** What makes a program find the model, beside `env` (codex: also `flags`). */
  envOf(program: Program, mode: string): Record<string, string> {
    const url = this.server.url(mode);
    const env: Record<Program, Record<string, string>> = {
      claude: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "test", DISABLE_AUTOUPDATER: "1" },
      codex: { OPENAI_API_KEY: "test" },
      gemini: {
        ...{ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "test" },
        GEMINI_CLI_TRUST_WORKSPACE: "true",
      },
      opencode: { TEST_URL: url },
    };
    return env[program];
  }

  flagsOf(program: Program, mode: string): string[] {
    if (program !== "codex") return [];
    return ["-c", `model_providers.test.base_url="${this.server.url(mode)}/v1"`];
  }

  newFolder(name: string): string {
    return mkdtempSync(join(this.#folder, `${name}-`));
  }

  /** A folder with a viv.toml for this program, and one task, `t.1`. */
  async route(program: Program, mode: string, more: RouteOptions = {}): Promise<Route> {
    // The tag makes the address this route's own, also if another one has the same mode.
    const address = `${mode}+tag=r${++this.#routes}`;
    const folder = this.newFolder(program);
    const env = Object.entries(this.envOf(program, address)).map(
      ([name, value]) => `${name}=${value}`,
    );
    const flags = this.flagsOf(program, address);
    writeFileSync(
      join(folder, "viv.toml"),
      `run = "run"
[handlers.fix]
engine = "${program}"
prompt = "fix.md"
model = "${MODELS[program]}"
account = "${program}-${this.#routes}"
workspace = "dir"
done_when = "grep fixed report.txt"
max_attempts = ${more.attempts ?? 3}
backoff = "100ms"
timeout = "${more.timeout ?? "2m"}"
env = ${JSON.stringify(env)}
${flags.length > 0 ? `flags = ${JSON.stringify(flags)}` : ""}
${(more.lines ?? []).join("\n")}
`,
    );
    const prompt = more.prompt ?? 'It counts when report.txt says "fixed".\n{{evidence}}\n';
    writeFileSync(join(folder, "fix.md"), prompt);
    const route = new Route(this, folder, address);
    await route.viv("enqueue", "--type", "fix", "--id", "t.1", ...(more.enqueue ?? []));
    return route;
  }

  /** Processes that have this home, whoever their parent is by now. */
  processes(): { pid: number; command: string }[] {
    const found: { pid: number; command: string }[] = [];
    for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
      try {
        const environment = readFileSync(`/proc/${name}/environ`, "latin1").split("\0");
        if (!environment.includes(`HOME=${this.home}`)) continue;
        const command = readFileSync(`/proc/${name}/cmdline`, "latin1")
          .replaceAll("\0", " ")
          .trim();
        if (command !== "") found.push({ pid: Number(name), command });
      } catch {
        // gone, or somebody else's
      }
    }
    return found;
  }

  /** Some programs outlive their terminals. */
  async endProcesses(): Promise<void> {
    await until("all processes of this home are gone", () => {
      const left = this.processes();
      for (const { pid } of left) kill(pid);
      return left.length === 0;
    });
  }
}

interface RouteOptions {
  /** More lines for the route's table; a table of its own may follow. */
  lines?: string[];
  attempts?: number;
  timeout?: string;
  prompt?: string;
  enqueue?: string[];
}

export class Route {
  readonly vendors: Vendors;
  readonly folder: string;
  /** The mode of its model, with a tag of its own: what server.work() and its like want. */
  readonly mode: string;

  constructor(vendors: Vendors, folder: string, mode: string) {
    this.vendors = vendors;
    this.folder = folder;
    this.mode = mode;
  }

  running(...args: string[]): Running {
    return this.runningWith(this.vendors.env, ...args);
  }

  runningWith(env: Record<string, string>, ...args: string[]): Running {
    return new Running(args, { cwd: this.folder, env });
  }

  /** Not as a blocking call: the model server lives in this process. */
  async viv(...args: string[]): Promise<Said> {
    const said = await this.running(...args).end(150);
    if (said.status !== 0) throw new Error(`viv ${args.join(" ")}: ${said.status}: ${said.stderr}`);
    return said;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as the command prints it
  async json(...args: string[]): Promise<any> {
    return JSON.parse((await this.viv(...args, "--json")).stdout);
  }

  /** A worker that ends when the queue is empty. */
  worker(...flags: string[]): Running {
    return this.running("work", "--worker-id", "w1", "--drain", "--grace", "1s", ...flags);
  }

  async work(seconds = 150): Promise<Said> {
    return this.worker().end(seconds);
  }

  /** Of the ledger, without the cached part. */
  async used(): Promise<{ input: number; output: number }> {
    const { total } = await this.json("costs");
    return total.tokens;
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }
}

/** Ends a process that was found by its home. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it is gone already
  }
}

function codexConfig(url: string, trusted: readonly string[]): string {
  const projects = trusted.map((one) => `[projects."${one}"]\ntrust_level = "trusted"\n`);
  return `model = "${MODELS.codex}"
model_provider = "test"
[model_providers.test]
name = "test"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
${projects.join("")}`;
}

const OPENCODE = {
  small_model: MODELS.opencode,
  autoupdate: false,
  provider: {
    test: {
      npm: "@ai-sdk/openai-compatible",
      name: "test",
      options: { baseURL: "{env:TEST_URL}/v1", apiKey: "test" },
      models: {
        "test-model": {
          name: "test",
          cost: { input: 1, output: 5, cache_read: 0.1 },
          limit: { context: 200_000, output: 8_000 },
        },
      },
    },
  },
};
