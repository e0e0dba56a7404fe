// What must be there before anything runs: dependencies, dist/ and a few system commands.
// Each function returns at once when there is nothing to do.

import { createHash } from "node:crypto";
import { accessSync, constants, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { bundle, isBuilt } from "./bundle.mjs";
import { withLock } from "./lock.mjs";
import { fail, root, run } from "./run.mjs";

const lockfile = join(root, "package-lock.json");
const installed = join(root, "node_modules/.package-lock.json");
const stamp = join(root, "node_modules/.viv-lock-hash");

// npm undoes an interrupted `ci` for a quarter of a minute, behind the prompt and in the way of
// the next start. The next `npm ci` begins with an empty node_modules anyway: no need to wait.
const endedByCtrlC = `trap 'kill -9 "$!"; exit 130' INT; "$@" & wait "$!"`;

/** Installs the dependencies when they are missing or are not those of package-lock.json. */
export function ensureInstalled() {
  if (isInstalled()) return;
  withLock(() => {
    if (isInstalled()) return; // another process did it while we waited
    if (!matchesLockfile()) {
      console.error("Installing dependencies ...");
      const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
      const npm = ["-c", endedByCtrlC, "sh", "npm", "ci", "--include=dev", ...quiet];
      if (run("sh", npm, { stdio: ["ignore", 2, 2] }) !== 0)
        fail("npm ci failed: see its message above, then run the same command again");
    }
    writeFileSync(stamp, lockfileHash());
  });
}

/** Builds dist/ when it is missing or older than its sources. It leaves out the declarations. */
export function ensureBuilt() {
  if (isBuilt()) return;
  withLock(() => {
    if (isBuilt()) return;
    console.error("Building ...");
    try {
      bundle({ types: false });
    } catch (error) {
      fail(error.message);
    }
  });
}

/**
 * Sees to it that system commands exist. `list` holds `{ command, package }`. Root on a Debian
 * system gets them installed; anybody else is told what to install.
 */
export function ensureDebianPackages(list) {
  const left = tryDebianPackages(list);
  if (left.length === 0) return;
  const commands = left.map((one) => one.command).join(", ");
  const packages = [...new Set(left.map((one) => one.package))].join(" ");
  fail(`Missing commands: ${commands}. Install them with: sudo apt-get install ${packages}`);
}

/** The same for what can be done without: returns what is still missing. */
export function tryDebianPackages(list) {
  const missing = () => list.filter(({ command }) => !onPath(command));
  if (missing().length > 0 && process.getuid?.() === 0 && onPath("apt-get")) {
    withLock(() => {
      const names = missing().map((one) => one.package);
      if (names.length > 0) aptInstall(names);
    });
  }
  return missing();
}

function aptInstall(names) {
  console.error(`Installing Debian packages: ${names.join(" ")} ...`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = { env, stdio: ["ignore", "ignore", 2] };
  // A failure shows itself as a command that is still missing.
  run("apt-get", ["update", "-qq"], options);
  run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...names], options);
}

function isInstalled() {
  return readIfThere(stamp) === lockfileHash();
}

/** True after a plain `npm install` or `npm ci`, which leave no stamp of ours behind. */
function matchesLockfile() {
  const actual = JSON.parse(readIfThere(installed) ?? '{"packages":{}}').packages;
  const wanted = JSON.parse(readFileSync(lockfile, "utf8")).packages;
  const same = ([path, entry]) =>
    path === "" || (actual[path] ? actual[path].integrity === entry.integrity : entry.optional);
  return (
    Object.keys(actual).length > 0 &&
    Object.keys(actual).every((path) => path in wanted) &&
    Object.entries(wanted).every(same)
  );
}

function lockfileHash() {
  return createHash("sha256").update(readFileSync(lockfile)).digest("hex");
}

function readIfThere(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function onPath(command) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false; // not in this folder
    }
  });
}
