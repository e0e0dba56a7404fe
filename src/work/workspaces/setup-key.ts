import { createHash } from "node:crypto";
import { constants, lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { withFile } from "../../platform/files/beneath.ts";
import type { Needs } from "../config-needs.ts";
import { pathsFor } from "./paths.ts";

/** Files that pin what a set-up installs. */
const LOCKFILES = [
  ...["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"],
  ...["bun.lockb", "deno.lock", "Cargo.lock", "go.sum", "poetry.lock", "uv.lock", "pdm.lock"],
  ...["Pipfile.lock", "requirements*.txt", "Gemfile.lock", "composer.lock", "mix.lock"],
  ...["pubspec.lock", "packages.lock.json", "gradle.lockfile", "Package.resolved", "flake.lock"],
];

/** What else decides about the result of a set-up. */
export interface SetupScope {
  repository: string | null;
  /** The `NAME=VALUE` of the route: a value that is only passed on may be a secret. */
  env: readonly string[];
  sandbox: readonly string[];
}

export interface SetupKey {
  key: string;
  /** The files that it was made of, below the workspace. */
  files: string[];
}

/** The same text for the same command, scope and files; another for any other. */
export function setupKey(workspace: string, needs: Needs, scope: SetupScope): SetupKey {
  const files = [
    ...new Set((needs.setupKey ?? LOCKFILES).flatMap((entry) => pathsFor(workspace, entry))),
  ].filter((path) => contentOf(join(workspace, path)) !== null);
  const env = scope.env.filter((entry) => entry.includes("="));
  const { platform, arch } = process;
  const head = [1, platform, arch, needs.setup, scope.repository, env, scope.sandbox];
  const hash = createHash("sha256").update(JSON.stringify(head));
  for (const path of files) {
    const content = contentOf(join(workspace, path)) ?? Buffer.alloc(0);
    hash.update(`\n${JSON.stringify(path)} ${content.length}\n`).update(content);
  }
  return { key: hash.digest("hex").slice(0, 32), files };
}

/** Null for what is neither a file nor a link. */
function contentOf(path: string): Buffer | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink()) return Buffer.from(readlinkSync(path));
  if (!stats?.isFile()) return null;
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  return withFile(path, flags, (fd) => readFileSync(fd));
}
