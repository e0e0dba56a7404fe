import { VivError } from "../../base/errors.ts";
import { assertNewName } from "../../base/names.ts";
import { parseUserJson } from "../../base/user-json.ts";
import { specFromObject, type TaskSpec, taskFromSpec } from "../../queue/spec.ts";
import type { Schedule } from "./config.ts";

/** `20261118T0700Z`; with seconds where it has some. */
export function stampOf(time: number): string {
  const digits = new Date(time).toISOString().replace(/[-:]|\.\d+/g, ""); // 20261118T070000Z
  return time % 60_000 === 0 ? digits.replace(/00Z$/, "Z") : digits;
}

/** The name of a fire, which its tasks' ids begin with. */
export function fireId({ name }: Pick<Schedule, "name">, time: number): string {
  return `${name}.${stampOf(time)}`;
}

/** Of a fire that a person asked for: no fire of the pattern has this id. */
export function runId({ name }: Pick<Schedule, "name">, now: number): string {
  return `${name}.run.${new Date(now).toISOString().replace(/[-:.]/g, "")}`;
}

/** More would be a run of its own, and each is looked at for `overlap`. */
const MOST_TASKS = 1_000;

/**
 * The tasks of a fire. The ids of a file get the fire's before them, and so do references to them; a
 * task without an id gets the number of its line. `text`: of the file. All that a run could refuse is
 * refused here, so that no part of a chain is enqueued.
 */
export function tasksOf(schedule: Schedule, fire: string, text: string): TaskSpec[] {
  const { tasks, priority, name } = schedule;
  const common = { created_by: `schedule ${name}`, ...(priority && { priority }) };
  if (tasks.kind === "task") {
    const { type, payload } = tasks;
    return [{ ...common, id: fire, type, ...(payload && { payload }) }];
  }
  const { path } = tasks;
  const invalid = (what: string) => new VivError("INVALID", `${path} ${what}.`);
  const specs = text.split("\n").flatMap((line, i): TaskSpec[] => {
    if (line.trim() === "") return [];
    return [{ ...common, ...specIn(line, i + 1, path) }];
  });
  if (specs.length > MOST_TASKS) throw invalid(`has more than ${MOST_TASKS} tasks`);
  if (specs.length === 0) throw invalid("has no task");
  const own = new Set(specs.map(({ id }) => id));
  if (own.size < specs.length) throw invalid("has an id twice");
  const ring = ringIn(specs);
  if (ring !== null) {
    const message = `tasks of ${path} wait for each other: ${ring.join(" → ")}; drop one of these dependencies.`;
    throw new VivError("DEPENDENCY_CYCLE", message);
  }
  const inFire = (id: string) => (own.has(id) ? `${fire}.${id}` : id);
  return specs.map(({ id = "", depends_on, parent, ...rest }) => ({
    ...rest,
    id: assertNewName("task id", inFire(id)),
    ...(depends_on && { depends_on: depends_on.map(inFire) }),
    ...(parent != null && { parent: inFire(parent) }),
  }));
}

function specIn(line: string, number: number, path: string): TaskSpec {
  try {
    const spec = specFromObject(parseUserJson(line, "it"));
    const newId = () => String(number);
    const { task_id: id } = taskFromSpec(spec, { runId: "", now: 0, newId });
    return { ...spec, id };
  } catch (error) {
    if (!(error instanceof VivError)) throw error;
    throw new VivError(error.code, `${path} line ${number}: ${error.message}`, error.details);
  }
}

/** Ids that wait for each other, `[b, c, b]`; null: none do. */
function ringIn(specs: readonly TaskSpec[]): string[] | null {
  const left = new Map(specs.map(({ id = "", depends_on = [] }) => [id, depends_on]));
  const needOf = (id: string) => left.get(id)?.find((one) => left.has(one));
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    for (const id of left.keys()) if (needOf(id) === undefined) left.delete(id);
  }
  const path: string[] = [];
  let [id] = left.keys();
  while (id !== undefined && !path.includes(id)) {
    path.push(id);
    id = needOf(id);
  }
  return id === undefined ? null : [...path.slice(path.indexOf(id)), id];
}
