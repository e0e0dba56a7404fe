import type { Section } from "../../base/section.ts";
import { isBranchName } from "../../platform/git/ref-name.ts";
import { FORGES, type ForgeName } from "./forge.ts";
import { placeOfName } from "./place.ts";

/** The keys of `[merge]` that are about a forge. */
export interface ForgeSettings {
  forge?: ForgeName;
  remote?: string;
  /** The repository on the forge, where the remote's URL does not name it. */
  repo?: string;
  /** The file of the template for a pull request's text, as it is written: relative to viv.toml. */
  body?: string;
}

export const forgeSection: Section<ForgeSettings> = (top) => {
  const table = top.section("merge");
  const repo = table.text("repo", 'a repository on a forge like "owner/name"', (text) => {
    return placeOfName(text) !== null;
  });
  return {
    forge: table.choice("forge", FORGES),
    remote: table.text("remote", "the name of a git remote", (name) => isBranchName(name)),
    repo,
    body: table.text("body", "the path of a template"),
  };
};
