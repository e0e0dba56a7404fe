import {
  existsSync,
  lstatSync,
  readFileSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { VivError } from "../../base/errors.ts";
import { bubblewrap, findBubblewrap, INSTALL_BUBBLEWRAP, probeBubblewrap } from "./bubblewrap.ts";
import { Views } from "./sandbox-views.ts";

export { findBubblewrap, probeBubblewrap };

/**
 * Sandboxes for handlers, made by bubblewrap. In each, the handler has its own process ids, sees
 * the system read-only and temporary folders empty, reaches no socket file of the system, and of the
 * run sees nothing but its workspace and its artifacts, which it may write, and what it is given to
 * read. A handler that could write more of the run could place a link for the worker to write through.
 *
 * - write-workspace: that.
 * - no-network: besides, no interface but a loopback of its own, and none of the sockets without a file.
 */
export type Restriction = "write-workspace" | "no-network";

export interface SandboxRequest {
  restrictions: readonly Restriction[];
  runDir: string;
  workspace: string | null;
  /** Existing files or folders of this task that it may write. */
  artifacts: readonly string[];
  /** Files or folders that must not be readable; those that do not exist are skipped. */
  hidden: readonly string[];
  /** What must be seen, read-only, even where all else is emptied, or hidden with the run. */
  reads?: readonly string[];
  /** What is seen elsewhere, too, read-only: in a folder that may be written. */
  shows?: readonly { from: string; to: string }[];
  cwd: string;
}

/** Temporary files, and the sockets and locks of running services. */
const EMPTIED = ["/tmp", "/var/tmp", "/dev/shm", "/run"];

/** What names are resolved with may lie in /run. It is of no use without a network. */
const NAME_RESOLUTION = ["/etc/resolv.conf", "/run/systemd/resolve"];

/**
 * The command line that runs `argv` in a sandbox. A signal that ends the program inside becomes
 * exit 128 + its number; one that cannot be started, exit 126 or 127, as in a shell.
 *
 * It must be started with the environment that the program is to have. SIGKILL for its process
 * ends everything inside; a polite signal goes to the processes inside, and it ignores it itself.
 */
export function sandboxed(
  argv: readonly string[],
  request: SandboxRequest,
  bwrap = findBubblewrap(process.env.PATH),
): string[] {
  if (bwrap === null) throw new VivError("UNSUPPORTED", INSTALL_BUBBLEWRAP);
  const [program = ""] = argv;
  if (program === "") throw new VivError("INVALID", "there is no command to run in the sandbox.");
  const hasNetwork = !request.restrictions.includes("no-network");
  const views = viewsFor(request, hasNetwork);
  if (isAbsolute(program) && existsSync(program)) views.show(program);
  for (const { to } of request.shows ?? []) removeLink(to);
  const options = [
    ...(hasNetwork ? [] : ["--unshare-net"]),
    ...views.options(),
    ...(request.shows ?? []).flatMap(({ from, to }) =>
      existsSync(from) ? ["--ro-bind", realpathSync.native(from), to] : [],
    ),
    ...["--chdir", realpathSync.native(request.cwd)],
    ...["--setenv", "TMPDIR", "/tmp"], // what it was may be read-only now
  ];
  return bubblewrap(bwrap, options, argv);
}

const probes = new Map<string, Promise<string | null>>();

/** The same, after making sure (once) that the bubblewrap in `path` works on this machine. */
export async function sandboxedHere(
  argv: readonly string[],
  request: SandboxRequest,
  path: string | undefined,
): Promise<string[]> {
  const problem = await whyNoSandbox(path);
  if (problem !== null) throw new VivError("UNSUPPORTED", problem);
  return sandboxed(argv, request, findBubblewrap(path));
}

/** Null when a sandbox can be made here. */
export async function whyNoSandbox(path: string | undefined): Promise<string | null> {
  const bwrap = findBubblewrap(path);
  if (bwrap === null) return INSTALL_BUBBLEWRAP;
  const probe = probes.get(bwrap) ?? probeBubblewrap(bwrap);
  probes.set(bwrap, probe);
  const problem = await probe;
  if (problem !== null) probes.delete(bwrap); // it may be repaired while we run
  return problem;
}

function viewsFor(request: SandboxRequest, hasNetwork: boolean): Views {
  const { runDir, workspace, cwd } = request;
  mustBe(runDir, "the run directory", (stats) => stats.isDirectory());
  mustBe(cwd, "the working directory", (stats) => stats.isDirectory());
  const views = new Views();
  for (const folder of EMPTIED) if (existsSync(folder)) views.add(folder, "scratch");
  for (const path of request.hidden) if (existsSync(path)) views.add(path, "hidden");

  views.add(runDir, "hidden");
  if (workspace !== null) {
    mustNotBeLink(workspace);
    mustBe(workspace, "the workspace", (stats) => stats.isDirectory());
    views.add(workspace, "write");
  }
  for (const path of request.artifacts) {
    mustNotBeLink(path);
    mustBe(path, "the artifact", (stats) => stats.isDirectory() || stats.isFile());
    views.add(path, "write");
  }
  // It must be somewhere, but there is nothing of the run to be seen there.
  if (views.viewOf(cwd) === "hidden") views.add(cwd, "hidden");
  views.keep(cwd);
  for (const path of request.reads ?? []) if (existsSync(path)) views.show(path);
  if (hasNetwork) for (const path of NAME_RESOLUTION) if (existsSync(path)) views.keep(path);
  for (const socket of strayListeners(workspace)) {
    if (views.viewOf(socket) === "read" || views.viewOf(socket) === "write") {
      views.add(socket, "hidden");
    }
  }
  return views;
}

/**
 * Listening sockets outside of the emptied folders: a read-only mount does not prevent a connection.
 * Sockets that are created later, or bound by a relative path, are not found.
 */
function strayListeners(workspace: string | null): string[] {
  let table: string;
  try {
    table = readFileSync("/proc/net/unix", "utf8");
  } catch {
    return []; // without /proc bubblewrap does not work either, and says so
  }
  const ours = [...EMPTIED, ...(workspace === null ? [] : [workspace])]
    .filter((path) => existsSync(path))
    .map((path) => realpathSync.native(path));
  const paths = table.split("\n").map((line) => line.match(/ (\/.*)$/)?.[1] ?? "");
  return [...new Set(paths)].filter(
    (path) => path !== "" && !ours.some((folder) => isIn(path, folder)) && isSocket(path),
  );
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false; // of another mount namespace, or removed, or not for us to see
  }
}

function isIn(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || !(way === ".." || way.startsWith("../"));
}

function mustBe(path: string, what: string, fits: (stats: Stats) => boolean): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && fits(stats)) return;
  const problem = stats === undefined ? "does not exist; make it first" : "is of the wrong kind";
  throw new VivError("INVALID", `${what} ${path} of the sandbox ${problem}.`, { path });
}

/** bubblewrap would make a file where a link leads that an attempt has left in its home. */
function removeLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(path);
}

/** Else an attempt could leave a link behind, and the next one would get what it leads to. */
function mustNotBeLink(path: string): void {
  if (!lstatSync(resolve(path), { throwIfNoEntry: false })?.isSymbolicLink()) return;
  throw new VivError(
    "INVALID",
    `${path} is a symbolic link, and a sandbox does not follow it; remove it or put a real file or folder there.`,
    { path },
  );
}
