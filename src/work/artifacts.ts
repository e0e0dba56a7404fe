import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readSync,
} from "node:fs";
import { join } from "node:path";
import type { SessionUsed } from "../engines/costs/usage.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import {
  linkSync,
  mkdirSync,
  openSync,
  removeSync,
  removeTreeSync,
  renameSync,
  rmdirSync,
  writeNewSync,
} from "../platform/files/beneath.ts";
import type { Evidence, Proof } from "../queue/attempt.ts";

/**
 * What an attempt leaves behind for people and for the next attempt, in `artifacts/`:
 *   <id>.files/                          what a handler in a sandbox leaves besides its artifact
 *   <id>.proof.json, <id>.proof.log      the last proof, and its output
 *   <id>.evidence/<attempt>.json, .log   why an attempt did not count
 *   .sessions/<id>/                      what its engines keep between attempts
 */
export interface ArtifactFiles {
  /** The stdout of an engine, as it is. */
  streamOf(id: string): string;
  /** Its first bytes as text; null when there is none. */
  readArtifact(id: string, bytes: number): string | null;
  /** Which artifact is there: another text as soon as a run has written it. */
  markArtifact(id: string): string;
  /** The answer of a model run, unless that has written its artifact itself since `mark`. */
  writeArtifact(id: string, text: string, mark: string): void;
  /** A folder for conversations and state that an engine keeps itself; made if it is missing. */
  sessionsOf(id: string): string;
  /** The tasks that have such a folder. */
  listSessions(): string[];
  /** With the record of the session to go on with, which was in there. */
  removeSessions(id: string): Promise<void>;
  /** Folders in that, by their way from it, each made if it is missing. */
  makeFolders(id: string, folders: readonly (readonly string[])[]): void;
  readSession(id: string): EngineSession | null;
  writeSession(id: string, session: EngineSession): void;
  logOf(id: string): string;
  /** Where traces are kept apart: a new file for this attempt, which `logOf` is a second name of. */
  beginLog?(log: { id: string; attempt: number; worker: string }): { head: string };
  endLog?(id: string, end: { outcome: string; seconds: number; note: string | undefined }): void;
  artifactOf(id: string): string;
  proofLogOf(id: string): string;
  /** Where the artifact is inside a sandbox, which shows only this task's files. */
  artifactInside(id: string): string;
  /**
   * Before a sandbox of this task begins: what it may write, made if it is missing, and read, which
   * is what there is of its own evidence and of the artifacts of `others`.
   */
  enter(id: string, others: readonly string[]): { writes: string[]; reads: string[] };
  /** After it has ended, with all its processes: its artifact is taken out. */
  leave(id: string): void;
  writeProof(id: string, proof: Proof): void;
  /** Keeps the log of what failed beside the reason, and returns where the log is. */
  keepEvidence(id: string, evidence: Evidence, log: string): string;
  /** The log of the newest attempt before `attempt` that left one; "" when none did. */
  evidenceBefore(id: string, attempt: number): string;
}

/** `<id>.session.json`: what the next attempt may go on with. */
export interface EngineSession {
  engine: string;
  session: string;
  model: string | null;
  /** In all its attempts: some vendors tell only the sum. */
  used?: SessionUsed;
  /** The attempt that works with it; still there when that was killed before it could settle its bill. */
  open?: OpenAttempt;
}

export interface OpenAttempt {
  token: string;
  attempt: number;
  worker: string;
  /** The session that it went on with, and what that had used. */
  resume: string | null;
  resumeUsed?: SessionUsed;
  /** Of the vendor's own files, how much was there when it began. */
  logs: Record<string, number>;
}

/** Enough to tell two artifacts apart that were written within one tick of the file system's clock. */
const MARKED_BYTES = 64 * 1024;

export function artifactsIn(artifacts: string): ArtifactFiles {
  const folderOf = (id: string) => join(artifacts, `${id}.evidence`);
  const proofOf = (id: string) => join(artifacts, `${id}.proof.json`);
  const root = join(artifacts, ".sessions");
  let old: Set<string> | undefined;
  // An earlier version had <id>.sessions. Those stay where they are, because vendors' programs note
  // paths. None is made any more, so to look once is enough.
  const oldSessions = () => {
    old ??= new Set(
      foldersIn(artifacts)
        .filter((name) => name.endsWith(OLD_SESSIONS) && name !== OLD_SESSIONS)
        .map((name) => name.slice(0, -OLD_SESSIONS.length)),
    );
    return old;
  };
  const artifactOf = (id: string) => join(artifacts, `${id}.md`);
  const filesOf = (id: string) => join(artifacts, `${id}.files`);
  const insideOf = (id: string) => join(filesOf(id), `${id}.md`);
  /** Where it was replaced inside. What is no file there (a link) is left alone. */
  const takeOut = (id: string) => {
    const left = lstatSync(insideOf(id), { throwIfNoEntry: false });
    if (!left?.isFile() || isSameFile(insideOf(id), artifactOf(id))) return;
    renameSync(insideOf(id), artifactOf(id));
  };
  const oldOf = (id: string) => join(artifacts, `${id}${OLD_SESSIONS}`);
  const sessionsOf = (id: string) => (oldSessions().has(id) ? oldOf(id) : join(root, id));
  return {
    logOf: (id) => join(artifacts, `${id}.log`),
    artifactOf,
    streamOf: (id) => join(artifacts, `${id}.stream.jsonl`),
    readArtifact: (id, bytes) => readStart(join(artifacts, `${id}.md`), bytes),
    markArtifact: (id) => markOf(join(artifacts, `${id}.md`)),
    writeArtifact: (id, text, mark) => {
      const path = join(artifacts, `${id}.md`);
      const now = markOf(path);
      // What was there at the beginning is an earlier attempt's.
      if (now === NOTHING || now === mark) replaceFileUnsynced(path, text);
    },
    sessionsOf: (id) => {
      const folder = sessionsOf(id);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return folder;
    },
    listSessions: () => [...new Set([...foldersIn(root), ...oldSessions()])].sort(),
    removeSessions: async (id) => {
      // First: without its session a task begins anew, but not with one that is gone.
      removeSync(join(artifacts, `${id}.session.json`));
      for (const folder of [join(root, id), oldOf(id)]) removeTreeSync(folder);
      old?.delete(id);
    },
    makeFolders: (id, folders) => {
      for (const way of [[], ...folders]) {
        makeFolder(join(sessionsOf(id), ...way)); // a link would lead out of its sandbox
      }
    },
    readSession: (id) => {
      const text = readStart(join(artifacts, `${id}.session.json`), 100_000);
      try {
        if (text === null) return null;
        const { used, ...session } = JSON.parse(text) as EngineSession;
        // An earlier version wrote it in another form: then it is not known.
        return Array.isArray(used?.total) && Array.isArray(used.since)
          ? { ...session, used }
          : session;
      } catch {
        return null; // then the next attempt begins anew
      }
    },
    writeSession: (id, session) =>
      replaceFileUnsynced(join(artifacts, `${id}.session.json`), `${JSON.stringify(session)}\n`),
    proofLogOf: (id) => join(artifacts, `${id}.proof.log`),
    artifactInside: insideOf,
    enter: (id, others) => {
      takeOut(id); // of an attempt whose worker died
      const paths = [artifactOf(id), join(artifacts, `${id}.log`)];
      const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
      for (const path of paths) closeSync(openSync(path, O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600));
      makeFolder(filesOf(id));
      // One file with two names: what is written to it in place is there at once, as outside.
      if (!isFolder(insideOf(id))) {
        removeSync(insideOf(id));
        linkSync(artifactOf(id), insideOf(id));
      }
      const seen = [
        folderOf(id),
        ...others.flatMap((other) => [artifactOf(other), filesOf(other)]),
      ];
      return {
        writes: [...paths, filesOf(id), sessionsOf(id)].filter(isFileOrFolder),
        reads: seen.filter(isFileOrFolder),
      };
    },
    leave: (id) => {
      const inside = insideOf(id);
      if (lstatSync(inside, { throwIfNoEntry: false }) === undefined) {
        removeSync(artifactOf(id)); // as it wanted
      }
      takeOut(id);
      if (isSameFile(inside, artifactOf(id))) removeSync(inside);
      removeIfEmpty(filesOf(id));
    },
    writeProof: (id, proof) =>
      replaceFileUnsynced(proofOf(id), `${JSON.stringify(proof, null, 2)}\n`),
    keepEvidence: (id, evidence, log) => {
      const folder = folderOf(id);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
      const base = join(folder, String(evidence.attempt));
      removeSync(`${base}.log`);
      writeNewSync(`${base}.log`, readWhole(log)); // "" when it said nothing
      replaceFileUnsynced(`${base}.json`, `${JSON.stringify(evidence, null, 2)}\n`);
      return `${base}.log`;
    },
    evidenceBefore: (id, attempt) => {
      for (let earlier = attempt - 1; earlier > 0; earlier--) {
        const log = join(folderOf(id), `${earlier}.log`);
        if (lstatSync(log, { throwIfNoEntry: false })?.isFile()) return log;
      }
      return "";
    },
  };
}

const OLD_SESSIONS = ".sessions";

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isFileOrFolder(path: string): boolean {
  return isFolder(path) || lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

/** Not through a link that an attempt has left there. */
function makeFolder(path: string): void {
  if (!isFolder(path)) mkdirSync(path, { mode: 0o700 });
}

function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(code)) throw error;
  }
}

function foldersIn(path: string): string[] {
  if (!existsSync(path)) return [];
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

const NOTHING = "-";

/**
 * Times alone do not tell: the clock of a file system stands still for some milliseconds, and two
 * fast attempts can end within one tick of it.
 */
function markOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  // An empty file is what a sandbox was given to write to.
  if (!stats?.isFile() || stats.size === 0n) return NOTHING;
  const start = createHash("sha256").update(readStart(path, MARKED_BYTES) ?? "");
  return `${stats.ino}.${stats.size}.${stats.mtimeNs}.${start.digest("hex")}`;
}

/** "" when there is none, or something else in its place. */
function readWhole(path: string): Buffer {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return Buffer.alloc(0);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

function readStart(path: string, bytes: number): string | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return null;
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const buffer = Buffer.alloc(bytes);
    return buffer.toString("utf8", 0, readSync(fd, buffer, 0, bytes, 0));
  } finally {
    closeSync(fd);
  }
}
