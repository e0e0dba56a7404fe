import { basename, resolve } from "node:path";
import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { suggest } from "../../base/names.ts";
import { text } from "../../operation/fields.ts";
import { defineOperation, definePort, type Here, runPlacePort } from "../../operation/operation.ts";
import { routeHostPort } from "../../work/host.ts";
import {
  type CheckedConfig,
  checkConfig,
  type Finding,
  finding,
  mistakesIn,
  warning,
} from "./check.ts";
import { knownKeys } from "./known-keys.ts";
import { type Setting, settingsIn } from "./show.ts";

export interface ConfigFiles {
  /** The viv.toml that counts here, though it may have mistakes. */
  find(): string | undefined;
  /** Throws INVALID. */
  read(file: string): string;
  /** The types of tasks that are not done, in the run at `path`; null: there is no such run. */
  typesIn(path: string): Promise<ReadonlySet<string> | null>;
}

export const configFilesPort = definePort<ConfigFiles>("config files");

export const configCheck = defineOperation({
  name: "config check",
  summary: "all mistakes in a viv.toml or agents.toml, with their places",
  input: z.strictObject({ file: text("file to check (default: the viv.toml that counts here)") }),
  changes: () => false,
  output: z.object({
    file: z.string(),
    valid: z.boolean(),
    findings: z.array(finding),
  }),
  async run({ use, here }, given) {
    const files = await use(configFilesPort);
    const file = fileFor(given.file, here, files);
    const content = files.read(file);
    const checked = /agents.*\.toml$/.test(basename(file))
      ? await checkAgents(content, file)
      : await checkConfig(content, file, await use(routeHostPort));
    const types = await use(runPlacePort).then(
      ({ path, from }) => (from === file ? files.typesIn(path) : null),
      () => null, // mistakes in the file are in `checked`
    );
    const { routes } = checked;
    const hasAll = routes === undefined || routes.has("default");
    const unrouted = hasAll ? [] : [...(types ?? [])].filter((type) => !routes.has(type));
    const findings = [...checked.findings, ...unrouted.map(waiting)];
    return { file, valid: findings.every(({ severity }) => severity === "warning"), findings };
  },
});

function waiting(type: string): Finding {
  return warning(
    `tasks of type ${type} wait in the run, and no route takes them; write [handlers.${type}]`,
  );
}

async function checkAgents(content: string, file: string): Promise<CheckedConfig> {
  const { parseAgents } = await import("../../fleet/agents.ts");
  try {
    await parseAgents(content, file);
    return { findings: [] };
  } catch (error) {
    if (!(error instanceof VivError) || error.code !== "INVALID") throw error;
    return { findings: mistakesIn(error.message, file) };
  }
}

/** Variables that change what a command does. */
const VARIABLES = ["VIV_STATE", "VIV_TRUST", "VIV_BOARD", "VIV_AGENT"];

export const configShow = defineOperation({
  name: "config show",
  summary: "every setting here, and what it came from",
  input: z.strictObject({ key: text("only keys that begin with this: handlers.fix") }),
  changes: () => false,
  output: z.object({
    file: z.nullable(z.string()),
    settings: z.array(z.object({ key: z.string(), value: z.unknown(), from: z.string() })),
  }),
  async run({ use, here }, { key = "" }) {
    const files = await use(configFilesPort);
    const file = files.find() ?? null;
    const inFile = file === null ? [] : await settingsIn(files.read(file), file);
    const run = await use(runPlacePort).catch(() => null); // there need not be one
    const named = inFile.find((setting) => setting.key === "run");
    const settings: Setting[] = [
      // What overrides the file stands for it.
      ...(run && run.from !== file ? [{ key: "run", value: run.path, from: run.from }] : []),
      ...inFile.filter((setting) => setting !== named || run?.from === file),
      ...VARIABLES.flatMap((name) => {
        const value = here.env[name];
        return value ? [{ key: name, value, from: "environment" }] : [];
      }),
    ];
    const asked = settings.filter((setting) => setting.key.startsWith(key));
    if (asked.length === 0 && file !== null) assertKey(key, settings);
    return { file, settings: asked };
  },
});

/** A key that is known may be without a value; another one is a slip. */
function assertKey(key: string, settings: readonly Setting[]): void {
  const near = suggest(key, new Set(settings.map((setting) => setting.key)));
  const tables = new Set([...knownKeys().keys()].map((known) => known.split(".")[0]));
  if (near === undefined && tables.has(key.split(".")[0])) return;
  const hint = near === undefined ? "see: viv config show" : `did you mean ${near}?`;
  throw new VivError("INVALID", `there is no setting ${JSON.stringify(key)}; ${hint}`);
}

function fileFor(given: string | undefined, { cwd }: Here, files: ConfigFiles): string {
  const file = given === undefined ? files.find() : resolve(cwd, given);
  if (file !== undefined) return file;
  const message = `there is no viv.toml at or above ${cwd}; write one with: viv init --template fleet`;
  throw new VivError("INVALID", message);
}
