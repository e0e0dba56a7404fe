import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { quoted } from "../../base/text.ts";
import { programPort } from "../../fleet/up-ports.ts";
import { flag, text } from "../../operation/fields.ts";
import { defineOperation, definePort } from "../../operation/operation.ts";
import { chain } from "./chain.ts";
import { fleet } from "./fleet.ts";
import { newsroom } from "./newsroom.ts";
import { pit } from "./pit.ts";
import { AGENT_NAMES, type AgentName, type Begun, type Found, type Template } from "./template.ts";
import { triage } from "./triage.ts";

const TEMPLATES: Readonly<Record<TemplateName, Template>> = { fleet, chain, pit, newsroom, triage };
export const TEMPLATE_NAMES = ["fleet", "chain", "pit", "newsroom", "triage"] as const;
export type TemplateName = (typeof TEMPLATE_NAMES)[number];

/** No agent: a script does the work. */
export const SCRIPT = "script";
export const ENGINE_CHOICES = [...AGENT_NAMES, SCRIPT] as const;

export interface TemplateHost {
  /** What there is in this folder and on this machine; `viv`: the program's path. */
  lookAround(viv: string): Promise<Omit<Found, "agent">>;
  /** What a killed call has left to do here. */
  begun(): Begun | null;
  /** Throws WRONG_STATE when a file of the user is in the way. */
  write(plan: Begun): Promise<void>;
}

export const templatePort = definePort<TemplateHost>("template");

export const templateInput = {
  template: z.optional(
    z.enum(TEMPLATE_NAMES).check(z.describe("write files that work as they are, and a first task")),
  ),
  engine: z.optional(
    z.enum(ENGINE_CHOICES).check(z.describe("engine (--template; default: the first installed)")),
  ),
  done_when: text("command that proves it is done (--template; default: the repository's tests)"),
  yes: flag("do not ask"),
};

export const initTemplate = defineOperation({
  name: "init template",
  summary: "write a viv.toml and its files for a fleet, a chain, a pit, a newsroom or triage",
  input: z.strictObject({ ...templateInput, template: z.enum(TEMPLATE_NAMES) }),
  output: z.object({
    template: z.string(),
    /** Null: a script. */
    engine: z.nullable(z.string()),
    files: z.array(z.string()),
    /** Commands to type next. */
    next: z.array(z.string()),
    /** A call before had been killed; its plan was finished. */
    finished: z.boolean(),
    warnings: z.optional(z.array(z.string())),
  }),
  async run({ use, here }, given) {
    const host = await use(templatePort);
    const begun = host.begun();
    const { viv } = await use(programPort);
    const found = await host.lookAround(viv);
    const agent = agentFor(given.engine, found.agents);
    const test = given.done_when ? { command: given.done_when, from: null } : found.test;
    if (begun === null) assertRepository(given.template, found.git, here.cwd);
    const plan = begun ?? {
      template: given.template,
      ...TEMPLATES[given.template]({ ...found, agent, test }),
    };
    await host.write(plan);
    const { template, files, next } = plan;
    const paths = files.map(({ path }) => path);
    const isMissing = agent !== null && !found.agents.some(({ name }) => name === agent);
    return {
      ...{ template, engine: agent, files: paths, next: [...next], finished: begun !== null },
      ...(isMissing && { warnings: [`${agent} is not found in PATH; install it before viv up`] }),
    };
  },
});

/** Null: a script. */
export function agentFor(
  given: (typeof ENGINE_CHOICES)[number] | undefined,
  agents: Found["agents"],
): AgentName | null {
  if (given === SCRIPT) return null;
  // One that is logged in comes first.
  return given ?? (agents.find(({ login }) => login) ?? agents[0])?.name ?? null;
}

/** Before the questions, too: no answer would help. */
export function assertRepository(template: TemplateName, git: Found["git"], cwd: string): void {
  if (template !== "fleet" || git === "top") return;
  const todo = {
    none: `${cwd} is no git repository; make one: git init && git add -A && git commit --allow-empty -m first`,
    empty: `the repository ${cwd} has no commits; make the first: git add -A && git commit --allow-empty -m first (without a fleet: viv init ./run)`,
    refused: `git does not work in ${cwd}; it says why: git -C ${quoted(cwd)} status (without a fleet: viv init ./run)`,
    below: `${cwd} is below the top folder of its repository; go there: cd "$(git rev-parse --show-toplevel)"`,
  };
  throw new VivError("INVALID", `a fleet works on a repository, and ${todo[git]}`);
}
