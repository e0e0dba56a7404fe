import { readdirSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { basename } from "node:path";
import type { Env } from "../../operation/operation.ts";
import { accountName } from "../../operation/person.ts";
import { secretsIn } from "../../operation/secrets.ts";
import type { Private } from "./redact.ts";

/** Names that say nothing about a person or a machine. */
const COMMON = new Set(
  "root user admin node runner ubuntu debian localhost vagrant test build host worker app home".split(
    " ",
  ),
);
/** Folders that every system has, without files of its users. */
const SYSTEM = new Set("usr bin sbin lib lib32 lib64 libx32 dev proc sys etc boot".split(" "));
/** Of other systems: a text may come from one. */
const USUAL =
  "home root Users tmp var private opt mnt media srv run Volumes data work workspace".split(" ");

/** What a text of this machine may say about it and about its user. */
export function privateHere(
  env: Env,
  places: {
    run: string;
    cwd: string;
    workspaces: string;
    repositories: readonly string[];
    runWords: string;
  },
): Private {
  const { run, cwd, workspaces, repositories, runWords } = places;
  const home = env.HOME ?? homedir();
  const folders = [
    ...repositories.map((path) => [path, "."] as const),
    [cwd, "."] as const,
    [workspaces, "WORKSPACES"] as const,
    [run, "RUN"] as const,
    [home, "~"] as const,
  ].filter(([path]) => path.startsWith("/") && path !== "/");
  const host = hostname();
  const hosts = [host, host.split(".")[0] ?? "", host.replace(/[^A-Za-z0-9-]/g, "-")];
  const users = [env.USER, env.LOGNAME, accountName(), basename(home)];
  const authors = [env.GIT_AUTHOR_NAME, env.GIT_COMMITTER_NAME];
  const told = (name: string | undefined): name is string =>
    name !== undefined && name.length >= 2 && !COMMON.has(name.toLowerCase());
  return {
    folders,
    roots: [...new Set([...USUAL, ...topFolders()])],
    names: [
      ...hosts.filter(told).map((name) => [name, "host"] as const),
      ...[...users, ...authors].filter(told).map((name) => [name, "user"] as const),
    ],
    secrets: secretsIn(env),
    dropped: [runWords],
  };
}

function topFolders(): string[] {
  try {
    return readdirSync("/").filter(
      (name) => /^[\w.-]+$/.test(name) && !SYSTEM.has(name) && !name.startsWith("."),
    );
  } catch {
    return []; // the usual ones are known
  }
}
