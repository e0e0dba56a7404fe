import { accessSync, constants, type Stats, statSync } from "node:fs";
import { resolve } from "node:path";

/** Why a handler could not be started, as a sentence that says what to do. */
export function explainStart(
  error: NodeJS.ErrnoException,
  command: { argv: readonly string[]; cwd: string },
): string {
  const { argv, cwd } = command;
  const name = argv[0] ?? "";
  // The system gives the same error for a folder that is missing as for a program that is.
  return aboutFolder(cwd) ?? aboutProgram(error, name, cwd);
}

function aboutFolder(cwd: string): string | undefined {
  const folder = statOf(cwd);
  if (folder === "missing") {
    return `the folder ${cwd} the handler should run in is not there; create it`;
  }
  if (folder !== "unknown" && !folder.isDirectory()) {
    return `${cwd}, where the handler should run, is not a folder`;
  }
  if (folder === "unknown" || !mayEnter(cwd)) {
    return `the folder ${cwd} the handler should run in may not be entered; check who owns it`;
  }
  return undefined;
}

function aboutProgram(error: NodeJS.ErrnoException, name: string, cwd: string): string {
  const file = name.includes("/") ? statOf(resolve(cwd, name)) : "missing";
  switch (error.code) {
    case "ENOENT":
    case "ENOTDIR":
      if (file === "missing") return `there is no handler ${name}`;
      return `handler ${name} needs a program that is not there; look at its #! line`;
    case "EACCES":
      if (typeof file === "string") return `handler ${name} may not be reached; check who owns it`;
      if (file.isDirectory()) return `handler ${name} is a folder; name a program in it`;
      if ((file.mode & 0o111) === 0) return `handler ${name} is not executable; chmod +x it`;
      return `handler ${name} may not be executed by this user; check who owns it, the program in its #! line, and whether its disk is mounted noexec`;
    case "ENOEXEC":
      return `handler ${name} has no #! line and is no program of this machine; add one, such as #!/bin/sh`;
    case "E2BIG":
      return `the arguments and the environment of handler ${name} are longer than the system allows; pass on less`;
    case "EAGAIN":
    case "ENOMEM":
      return `the system has no room for another process to run handler ${name} (${error.code}); end some, or raise the limit (ulimit -u)`;
    case "EMFILE":
    case "ENFILE":
      return `too many files are open to run handler ${name} (${error.code}); run fewer at a time, or raise the limit (ulimit -n)`;
    default:
      return `handler ${name} cannot be started: ${error.message}`;
  }
}

function statOf(path: string): Stats | "missing" | "unknown" {
  try {
    return statSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? "missing" : "unknown";
  }
}

function mayEnter(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
