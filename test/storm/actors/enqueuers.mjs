import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandTrouble } from "../machine-errors.mjs";
import { firstJson, sleep } from "../scene.mjs";

/**
 * Enqueuers: single commands (with and without an id), bulk, the library. After an error a client does
 * what a user would: says it again. With an id, TASK_EXISTS is then success. Without one, a repeat is
 * made only after an answer; so a task that exists twice was refused after it was accepted.
 *
 * Every try carries a mark (who, and which try) in its payload, by which the referee finds what became
 * of it.
 */

const BACKLOG = 400;
const TRIES = 12;
const KINDS = { single: 4, nameless: 3, bulk: 3, library: 2 };

const TYPES = {
  ok: 70,
  talks: 6,
  prove: 8,
  "prove-late": 2,
  review: 3,
  slow: 3,
  long: 0.4,
  "fails-once": 3,
  fails: 1,
  limited: 1.5,
  background: 1.5,
};

/** Writes its verdict to the journal; the first attempt of `late` is not borne out. */
const proof = (late) =>
  `c=0; ${late ? '[ "$VIV_ATTEMPT" -gt 1 ] || c=1; ' : ""}echo "p $VIV_TASK_ID $VIV_CLAIM $c" >> "$STORM/journal"; exit $c`;

export async function enqueueAll(scene, chance, { most, name, kinds = KINDS }) {
  let made = 0;
  const known = [];
  while (!scene.isOver && made < most) {
    if (backlog(scene) > BACKLOG) {
      await sleep(100);
      continue;
    }
    const n = scene.number();
    const who = `${name}${n}`;
    const kind = chance.weighted(kinds);
    const count =
      kind === "bulk" ? chance.whole(50, 250) : kind === "library" ? chance.whole(5, 60) : 1;
    const specs = specsOf(chance, who, Math.min(count, most - made), kind === "nameless", known);
    made += specs.length;
    if (kind === "bulk") await bulk(scene, chance, who, specs);
    else if (kind === "library") await library(scene, chance, who, specs);
    else await single(scene, chance, who, specs[0]);
    for (const { id } of specs) if (id) known.push(id);
    if (known.length > 500) known.splice(0, known.length - 500);
  }
}

function backlog(scene) {
  return readdirSync(join(scene.run, "pending")).length;
}

function specsOf(chance, who, count, isNameless, known) {
  const shape = chance.weighted({ loose: 6, chain: 1, fan: 1, older: 1 });
  const type = () => chance.weighted(TYPES);
  const specs = [];
  for (let i = 0; i < count; i++) {
    const spec = { type: type(), payload: {} };
    if (!isNameless) spec.id = count === 1 ? who : `${who}.${i}`;
    if (spec.type === "prove" || spec.type === "prove-late") {
      spec.done_when = proof(spec.type === "prove-late");
      spec.max_attempts = 4;
    }
    if (spec.type === "fails-once") spec.max_attempts = 4;
    // Not three times the same: then it would wait for another worker, and --drain with it.
    if (spec.type === "fails") spec.max_attempts = chance.whole(1, 2);
    if (spec.type === "review") spec.review = true;
    if (chance.isTrue(0.1)) spec.priority = chance.pick(["high", "low"]);
    if (chance.isTrue(0.03))
      spec.not_before = new Date(Date.now() + chance.between(0, 4000)).toISOString();
    if (spec.max_attempts === undefined && chance.isTrue(0.1))
      spec.max_attempts = chance.whole(1, 4);
    const earlier = specs.at(-1)?.id;
    if (shape === "chain" && i % 6 !== 0 && earlier) spec.depends_on = [earlier];
    if (shape === "fan" && i % 10 !== 0 && specs[i - (i % 10)]?.id)
      spec.depends_on = [specs[i - (i % 10)].id];
    if (shape === "older" && known.length > 0 && chance.isTrue(0.3))
      spec.depends_on = [chance.pick(known)];
    specs.push(spec);
  }
  return specs;
}

async function single(scene, chance, who, spec) {
  for (let tries = 1; tries <= TRIES; tries++) {
    const mark = `${who}/${tries}`;
    const about = { verb: "enqueue", mark, who, ...(spec.id ? { id: spec.id } : {}) };
    const args = ["enqueue", ...flagsOf(spec), "--payload", JSON.stringify({ mark })];
    const operation = await scene.command(about, args, commandTrouble(scene, chance));
    if (operation.status === 0) {
      operation.enqueued = [firstJson(operation.out).id];
      return;
    }
    if (operation.code === "TASK_EXISTS" && tries > 1) {
      operation.enqueued = [spec.id];
      return;
    }
    if (operation.status !== null) look(scene, operation);
    if (operation.status === null && !spec.id) return; // killed: nobody knows, and nobody repeats it
    await sleep(chance.between(50, 600));
  }
}

/** Where the task is right after the answer: later, somebody's repeat may have brought it there. */
function look(scene, operation) {
  if (operation.id) operation.after = scene.placeOf(operation.id);
}

async function bulk(scene, chance, who, specs) {
  const ids = specs.map((spec) => spec.id);
  for (let tries = 1; tries <= TRIES; tries++) {
    const mark = `${who}/${tries}`;
    const text = specs.map((spec) => JSON.stringify({ ...spec, payload: { mark } })).join("\n");
    const file = join(scene.folder, `${who}.jsonl`);
    writeFileSync(file, `${text}\n`);
    const operation = await scene.command(
      { verb: "enqueue-bulk", mark, who, count: ids.length },
      ["enqueue", "--jsonl", file, "--if-absent"],
      commandTrouble(scene, chance),
    );
    if (operation.status === 0) {
      operation.enqueued = ids;
      return;
    }
    await sleep(chance.between(50, 600));
  }
}

async function library(scene, chance, who, specs) {
  // Every third by itself, the rest in bulk.
  const alone = specs.filter((_, i) => i % 3 === 0);
  const rest = specs.filter((_, i) => i % 3 !== 0);
  let todo = [...alone.map((spec) => [spec]), ...(rest.length > 0 ? [rest] : [])];
  for (let tries = 1; tries <= TRIES && todo.length > 0; tries++) {
    const mark = `${who}/${tries}`;
    const marked = todo.map((list) => list.map((spec) => ({ ...spec, payload: { mark } })));
    const operation = await scene.command(
      { verb: "enqueue-library", mark, who, count: marked.flat().length },
      [scene.run, JSON.stringify(marked)],
      { ...commandTrouble(scene, chance), program: scene.program("library-enqueuer.mjs") },
    );
    operation.enqueued = [];
    operation.refusals = [];
    const left = new Set(todo);
    for (const line of operation.out.split("\n").filter((text) => text.endsWith("}"))) {
      const answer = JSON.parse(line);
      const list = todo[answer.at];
      const isThere =
        answer.error === undefined || (answer.error.code === "TASK_EXISTS" && tries > 1);
      if (isThere) {
        operation.enqueued.push(...list.map(({ id }) => id));
        left.delete(list);
      } else if (list.length === 1) {
        operation.refusals.push({
          id: list[0].id,
          ...answer.error,
          after: scene.placeOf(list[0].id),
        });
      }
    }
    todo = todo.filter((list) => left.has(list));
    if (todo.length > 0) await sleep(chance.between(50, 600));
  }
}

function flagsOf(spec) {
  const flags = ["--type", spec.type];
  if (spec.id) flags.push("--id", spec.id);
  if (spec.priority) flags.push("--priority", spec.priority);
  if (spec.depends_on) flags.push("--depends-on", spec.depends_on.join(","));
  if (spec.not_before) flags.push("--not-before", spec.not_before);
  if (spec.max_attempts) flags.push("--max-attempts", String(spec.max_attempts));
  if (spec.done_when) flags.push("--done-when", spec.done_when);
  if (spec.review) flags.push("--review");
  return flags;
}
