import type { ConfigTable } from "../base/config-table.ts";
import { whyNoPath } from "./workspaces/paths.ts";

/** What a workspace of a route needs before an attempt begins in it. */
export interface Needs {
  /** A shell command. */
  setup?: string;
  /** The files that its result depends on; without it, the lockfiles that are there. */
  setupKey?: readonly string[];
  setupTimeoutMs?: number;
  /** Paths of the repository's own checkout that git does not have. */
  copy?: readonly string[];
  link?: readonly string[];
}

export const NEED_KEYS = ["setup", "setup_key", "setup_timeout", "copy", "link"];

export function readNeeds(table: ConfigTable, workspace: "none" | "dir" | "worktree"): Needs {
  const needs: Needs = {
    setup: table.text("setup", "a command"),
    setupKey: readPaths(table, "setup_key", '["package-lock.json"]'),
    setupTimeoutMs: table.duration("setup_timeout"),
    copy: readPaths(table, "copy", '[".env"]'),
    link: readPaths(table, "link", '["node_modules"]'),
  };
  // A workspace that is misspelt is noted as that.
  if (table.has("workspace") && workspace === "none" && table.get("workspace") !== "none") {
    return needs;
  }
  const only = (key: string, where: string) => {
    if (table.has(key)) table.note([key], `${key} goes only with workspace = ${where}`);
  };
  if (workspace === "none") only("setup", '"worktree" or "dir"');
  if (workspace !== "worktree") {
    for (const key of ["setup_key", "copy", "link"]) only(key, '"worktree"');
  }
  for (const key of ["setup_key", "setup_timeout"]) {
    if (table.has(key) && !table.has("setup")) table.note([key], `${key} goes only with setup`);
  }
  const both = needs.copy?.find((path) => needs.link?.includes(path));
  if (both !== undefined)
    table.note(["link"], `${both} is in copy and in link; take it out of one`);
  return needs;
}

export function needsAnything({ setup, copy = [], link = [] }: Needs): boolean {
  return setup !== undefined || copy.length > 0 || link.length > 0;
}

function readPaths(table: ConfigTable, key: string, example: string): string[] | undefined {
  const paths = table.texts(key, `a list of paths like ${example}`);
  paths?.forEach((path, i) => {
    const problem = whyNoPath(path);
    if (problem !== null) table.note([key, i], `${key}: ${problem}`);
  });
  return paths;
}
