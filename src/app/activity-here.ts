import { isVivError } from "../base/errors.ts";
import { crewActivity, keeperActivity, LOOKED_AT } from "../crew/activity.ts";
import { findCrew } from "../crew/requests.ts";
import type { Context } from "../operation/operation.ts";
import { storePort } from "../queue/operation.ts";

/** `GET /_activity`: the crew that is found here; without one, a worker of the run. */
export async function activityHere(context: Context): Promise<unknown> {
  let found: Awaited<ReturnType<typeof findCrew>>;
  try {
    found = await findCrew(context, undefined);
  } catch (error) {
    if (isVivError(error, "RUN_NOT_FOUND")) return workersActivity(context);
    throw error;
  }
  const { files } = found;
  const lines = files.lastLines(LOOKED_AT);
  const crew = files.crew();
  if (crew?.singleton) {
    const status = files.status("");
    if (status !== null) return keeperActivity(status, lines);
  }
  const names = crew?.members ?? files.names().filter((name) => name !== "");
  return crewActivity(
    names.flatMap((name) => files.status(name) ?? []),
    lines,
  );
}

/** In the shape of a keeper, as the seed has it without a crew: the worker with a task, else the first. */
async function workersActivity(context: Context) {
  const workers = await (await context.use(storePort)).workers();
  const agents = workers.map(({ name, claims, alive, note }) => {
    const running = alive && claims.length > 0;
    // An idle worker's note is that of the task before.
    return { agent: { name, running, lifecycle: null }, thought: (running && note) || null };
  });
  const { agent, thought } = agents.find((one) => one.agent.running) ?? agents[0] ?? NONE;
  return { agent, steps: [], thought };
}

const NONE = { agent: null, thought: null };
