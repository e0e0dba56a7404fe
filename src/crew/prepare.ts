import { dirname, extname, resolve } from "node:path";
import { VivError } from "../base/errors.ts";
import { afterTick, isClosed, parseLifecycle, positionFrom, positionText } from "./lifecycle.ts";
import type { Member } from "./manifest.ts";
import type { LifecycleTick, Prepared } from "./ports.ts";
import { promptFor, sharedOf } from "./prompt.ts";
import type { TickOutcome } from "./status.ts";

/** The prompt and lifecycle of a tick, from the files as they are now: editing them needs no restart. */
export interface PrepareHost {
  /** Of the manifest: paths in it are relative to that. */
  folder: string;
  /** Throws the system error. */
  readText(path: string): string;
  /** The persisted position of its lifecycle. */
  position(member: Member): string | null;
  /** Its last steps, for a reflection. */
  recent(member: Member): string;
}

export function prepare(host: PrepareHost, member: Member): Prepared {
  const path = resolve(host.folder, member.def);
  const def = read(host, path, "its def");
  const laws = lawsOf(host, path, def, new Set([path]));
  const lifecycle = member.lifecycle === null ? null : lifecycleOf(host, member, member.lifecycle);
  return {
    member,
    lifecycle,
    promptFor: (at) =>
      promptFor({
        laws,
        def,
        mode: member.mode,
        lifecycle: at?.state ?? null,
        isReflection: at?.isReflection ?? false,
        recent: at?.isReflection ? host.recent(member) : "",
      }),
  };
}

/** Shared files come first, each once, theirs before them. */
function lawsOf(host: PrepareHost, path: string, text: string, seen: Set<string>): string[] {
  return sharedOf(text, formatOf(path)).flatMap((name) => {
    const shared = resolve(dirname(path), name);
    if (seen.has(shared)) return [];
    seen.add(shared);
    const law = read(host, shared, `the shared file of ${path}`);
    return [...lawsOf(host, shared, law, seen), law];
  });
}

function formatOf(path: string): "org" | "markdown" {
  return extname(path) === ".org" ? "org" : "markdown";
}

function lifecycleOf(host: PrepareHost, member: Member, file: string): LifecycleTick {
  const path = resolve(host.folder, file);
  const spec = parseLifecycle(read(host, path, "its lifecycle"));
  if (spec.problem !== null) throw new VivError("INVALID", `${path}: ${spec.problem}`);
  const position = positionFrom(host.position(member), spec);
  return {
    states: [...spec.states.keys()],
    position: positionText(position),
    state: position.state,
    isReflection: spec.states.get(position.state)?.kind === "rem",
    isClosed: (lastRan, now) => isClosed(spec, position, lastRan, now),
    after: (outcome: TickOutcome) => positionText(afterTick(spec, position, outcome)),
  };
}

function read(host: PrepareHost, path: string, what: string): string {
  try {
    return host.readText(path);
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing ? "is not there" : `cannot be read: ${(cause as Error).message}`;
    throw new VivError("INVALID", `${what} ${path} ${why}`, { path }, { cause });
  }
}
