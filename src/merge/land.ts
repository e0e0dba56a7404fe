import type { Landing } from "./landing.ts";
import { treeOf } from "./merge-commit.ts";
import type { Session, Step } from "./session.ts";

type Proof = NonNullable<Landing["proof"]>;

/**
 * Takes proven merges into the target, all in one step. Before it their files say from where to
 * where; so after a crash the target's commits tell whether it happened (see recover.ts).
 * "moved": the target was elsewhere, and they are queued again.
 */
export async function land(
  session: Session,
  steps: readonly Step[],
  proof: Proof,
  event: "proven" | "resume",
): Promise<"over" | "moved"> {
  const [first] = steps;
  const last = steps.at(-1);
  if (first === undefined || last === undefined) return "over";
  for (const { candidate, from, to } of steps) {
    session.move(candidate, event, { from, to, proof }, true);
  }
  const result = session.obstacle ?? (await session.moveTarget(first.from, last.to));
  if (result === "moved") {
    for (const { candidate } of steps) session.move(candidate, "moved");
    return "moved";
  }
  const tree = last.tree ?? (await treeOf(last.to, session.scratch.place));
  session.top = { commit: last.to, tree };
  if (result === "done") {
    for (const { candidate, from, to } of steps) {
      await session.finish(candidate, "landed", { from, to, proof }, true);
    }
    return "over";
  }
  session.obstacle = result;
  const command = result.command(last.to);
  for (const { candidate, from, to } of steps) {
    await session.retain(session.of(candidate), to);
    await session.hold(candidate, result.reason, { from, to, proof, command });
    session.chain.add(candidate.id);
  }
  return "over";
}
