import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readSync,
  writeSync,
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
  withFile,
  writeNewSync,
} from "../platform/files/beneath.ts";
import type { Evidence, Proof } from "../queue/attempt.ts";

/**
 * What an attempt leaves behind for people and for the next attempt, in `artifacts/`:
 *   <id>.files/                          what a handler in a sandbox leaves besides its artifact
 *   <id>.setup.log                       what was done to make its workspace ready
 *   <id>.proof.json, <id>.proof.log      the last proof, and its output
 *   <id>.evidence/<attempt>.json, .log   why an attempt did not count
 *   <id>.evidence/<attempt>.merge.log    why its work could not land
 *   .sessions/<id>/                      what its engines keep between attempts
 */
export interface ArtifactFiles extends ReturnType<typeof artifactsIn> {
  /** Where attempts have logs of their own: a new one, with `logOf` as its second name. Returns its head. */
  beginLog?(log: { id: string; attempt: number; worker: string }): string;
  endLog?(id: string, end: { outcome: string; seconds: number; note: string | undefined }): void;
}

/** `<id>.session.json`: what the next attempt may go on with. */
export interface EngineSession {
  engine: string;
  session: string;
  model: string | null;
  /** In all its attempts: some vendors report only the sum. */
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
  /** The sizes of the vendor's own files when it began. */
  logs: Record<string, number>;
}

/** Enough to distinguish two artifacts that were written within one tick of the file system's clock. */
const MARKED_BYTES = 64 * 1024;

export function artifactsIn(artifacts: string) {
  const at = (name: string) => join(artifacts, name);
  const logOf = (id: string) => at(`${id}.log`);
  const setupLogOf = (id: string) => at(`${id}.setup.log`);
  const artifactOf = (id: string) => at(`${id}.md`);
  const filesOf = (id: string) => at(`${id}.files`);
  const insideOf = (id: string) => join(filesOf(id), `${id}.md`);
  const evidenceOf = (id: string) => at(`${id}.evidence`);
  const sessionRecordOf = (id: string) => at(`${id}.session.json`);
  const root = at(".sessions");
  let old: Set<string> | undefined;
  // An earlier version had <id>.sessions. Those stay where they are, because vendors' programs note
  // paths. No new ones are made, so one look is enough.
  const oldSessions = () => {
    old ??= new Set(
      foldersIn(artifacts)
        .filter((name) => name.endsWith(OLD_SESSIONS) && name !== OLD_SESSIONS)
        .map((name) => name.slice(0, -OLD_SESSIONS.length)),
    );
    return old;
  };
  const oldOf = (id: string) => at(`${id}${OLD_SESSIONS}`);
  const homeOf = (id: string) => (oldSessions().has(id) ? oldOf(id) : join(root, id));
  /** Takes an artifact that was replaced inside out of there. A link is left alone. */
  const takeOut = (id: string) => {
    if (!isFile(insideOf(id)) || isSameFile(insideOf(id), artifactOf(id))) return;
    renameSync(insideOf(id), artifactOf(id));
  };
  return {
    logOf,
    artifactOf,
    proofLogOf: (id: string) => at(`${id}.proof.log`),
    /** The output of the proof after its merge. */
    mergeLogOf: (id: string) => at(`${id}.merge.log`),
    /** The output of the queue's proof without it. */
    targetLogOf: (id: string) => at(`${id}.target.log`),
    setupLogOf,
    /** Adds a line to the log of a set-up. */
    noteSetup: (id: string, line: string) => {
      const { O_APPEND, O_CREAT, O_WRONLY } = constants;
      const flags = O_APPEND | O_CREAT | O_WRONLY;
      withFile(setupLogOf(id), flags, (fd) => writeSync(fd, `viv: ${line}\n`), 0o600);
    },
    /** The stdout of an engine, as it is. */
    streamOf: (id: string) => at(`${id}.stream.jsonl`),
    /** Where the artifact is inside a sandbox, which shows only this task's files. */
    artifactInside: insideOf,

    /** Its first bytes as text; null when there is none. */
    readArtifact: (id: string, bytes: number) => readStart(artifactOf(id), bytes),
    /** Which artifact is there: another text as soon as a run has written it. */
    markArtifact: (id: string) => markOf(artifactOf(id)),
    /** The answer of a model run, unless the run has written its artifact itself since `mark`. */
    writeArtifact: (id: string, text: string, mark: string) => {
      const now = markOf(artifactOf(id));
      if (now === NOTHING || now === mark) replaceFileUnsynced(artifactOf(id), text);
    },

    /** A folder for conversations and state that an engine keeps itself; made if it is missing. */
    sessionsOf: (id: string) => {
      const folder = homeOf(id);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return folder;
    },
    /** The tasks that have such a folder. */
    listSessions: () => [...new Set([...foldersIn(root), ...oldSessions()])].sort(),
    /** With the record of the session to go on with. */
    removeSessions: async (id: string) => {
      // The record first: a task without one begins anew; a record of a removed session would fail.
      removeSync(sessionRecordOf(id));
      for (const folder of [join(root, id), oldOf(id)]) removeTreeSync(folder);
      old?.delete(id);
    },
    /** Folders below it, each made if it is missing. */
    makeFolders: (id: string, folders: readonly (readonly string[])[]) => {
      for (const way of [[], ...folders]) {
        makeFolder(join(homeOf(id), ...way)); // a link would lead out of its sandbox
      }
    },
    readSession: (id: string): EngineSession | null => {
      const text = readStart(sessionRecordOf(id), 100_000);
      try {
        if (text === null) return null;
        const { used, ...session } = JSON.parse(text) as EngineSession;
        // An earlier version wrote `used` in another form: then it is not known.
        const isKnown = Array.isArray(used?.total) && Array.isArray(used.since);
        return isKnown ? { ...session, used } : session;
      } catch {
        return null; // then the next attempt begins anew
      }
    },
    writeSession: (id: string, session: EngineSession) =>
      replaceFileUnsynced(sessionRecordOf(id), `${JSON.stringify(session)}\n`),

    /**
     * Before a sandbox of this task begins. `writes`: what it may write, made if it is missing;
     * `reads`: its own evidence and the artifacts of `others`, as far as they exist.
     */
    enter: (id: string, others: readonly string[]) => {
      takeOut(id); // of an attempt whose worker died
      const paths = [artifactOf(id), logOf(id)];
      const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
      for (const path of paths) closeSync(openSync(path, O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600));
      makeFolder(filesOf(id));
      // One file with two names: a write in place inside is seen outside at once.
      if (!isFolder(insideOf(id))) {
        removeSync(insideOf(id));
        linkSync(artifactOf(id), insideOf(id));
      }
      const seen = others.flatMap((other) => [artifactOf(other), filesOf(other)]);
      return {
        writes: [...paths, filesOf(id), homeOf(id)].filter(isFileOrFolder),
        reads: [evidenceOf(id), ...seen].filter(isFileOrFolder),
      };
    },
    /** After it has ended, with all its processes: its artifact is taken out, or removed as inside. */
    leave: (id: string) => {
      const inside = insideOf(id);
      if (lstatSync(inside, { throwIfNoEntry: false }) === undefined) removeSync(artifactOf(id));
      takeOut(id);
      if (isSameFile(inside, artifactOf(id))) removeSync(inside);
      removeIfEmpty(filesOf(id));
    },

    writeProof: (id: string, proof: Proof) =>
      replaceFileUnsynced(at(`${id}.proof.json`), `${JSON.stringify(proof, null, 2)}\n`),
    /** Keeps the log of a failure beside its reason. */
    keepEvidence: (id: string, evidence: Evidence, log: string) => {
      const folder = evidenceOf(id);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
      const base = join(folder, String(evidence.attempt));
      removeSync(`${base}.log`);
      writeNewSync(`${base}.log`, readWhole(log));
      replaceFileUnsynced(`${base}.json`, `${JSON.stringify(evidence, null, 2)}\n`);
    },
    /** The log of the newest attempt before `attempt` that left one; "" when none did. */
    evidenceBefore: (id: string, attempt: number) => {
      for (let earlier = attempt - 1; earlier > 0; earlier--) {
        const logs = [".merge.log", ".log"].map((end) => join(evidenceOf(id), `${earlier}${end}`));
        const log = logs.find(isFile);
        if (log !== undefined) return log;
      }
      return "";
    },
  };
}

const OLD_SESSIONS = ".sessions";

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

const isFileOrFolder = (path: string) => isFolder(path) || isFile(path);

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

const TO_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const NOTHING = "-";

/** With a hash: two fast attempts can end within one tick of the file system's clock. */
function markOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  // A sandbox begins with an empty file.
  if (!stats?.isFile() || stats.size === 0n) return NOTHING;
  const start = createHash("sha256").update(readStart(path, MARKED_BYTES) ?? "");
  return `${stats.ino}.${stats.size}.${stats.mtimeNs}.${start.digest("hex")}`;
}

/** Empty when there is no such file. */
function readWhole(path: string): Buffer {
  return isFile(path) ? withFile(path, TO_READ, (fd) => readFileSync(fd)) : Buffer.alloc(0);
}

function readStart(path: string, bytes: number): string | null {
  if (!isFile(path)) return null;
  return withFile(path, TO_READ, (fd) => {
    const buffer = Buffer.alloc(bytes);
    return buffer.toString("utf8", 0, readSync(fd, buffer, 0, bytes, 0));
  });
}
