import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The seed's pool directory (`~/gt/deacon/dogs`), with its files as its design document has them. */

/** Without milliseconds, as Go writes it. */
const goTime = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

export function seedWarrant(id: string, target: string, reason: string, filedAt: number) {
  return { id, target, reason, requester: "deacon", filed_at: goTime(filedAt) };
}

export function seedDance(dog: string, target: string, state: string, now: number) {
  return {
    id: dog,
    warrant: seedWarrant(`gt-${target.toLowerCase()}`, target, "no_response_health_check", now),
    state,
    attempt: 2,
    started_at: goTime(now),
    last_message_at: goTime(now),
    next_timeout: goTime(now + 45_000),
  };
}

/** Two dances, two warrants in the queue, a record, and the files of Boot. */
export function writeSeedPool(folder: string, now: number): void {
  const write = (name: string, content: unknown) => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  };
  write("boot/CLAUDE.md", "# Boot\n");
  write("boot/.boot-status.json", { running: true });
  write("active/dog-123.json", seedDance("dog-123", "Toast", "interrogating", now));
  write("active/dog-456.json", seedDance("dog-456", "Shadow", "executing", now));
  write("completed/dog-789.json", seedDance("dog-789", "Copper", "complete", now));
  write("completed/dog-790.json", {
    dog_id: "dog-790",
    warrant: seedWarrant("gt-slate", "Slate", "crash_loop", now),
    ...{ outcome: "executed", duration: 420_000_000_000, details: "no ALIVE after 3 attempts" },
  });
  const abc = seedWarrant("gt-abc", "witness-gastown", "stuck_no_progress", now);
  const def = seedWarrant("gt-def", "polecat-Copper", "crash_loop", now + 1000);
  write("warrants/warrant-abc.json", abc);
  write("warrants/warrant-def.json", def);
}
