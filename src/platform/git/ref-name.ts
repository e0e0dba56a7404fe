/**
 * Whether git takes this as the name of a branch: the rules of `git check-ref-format`, and no name
 * that git's commands would take for an option or for HEAD.
 */
export function isBranchName(name: string): boolean {
  return isRefPath(name) && !name.startsWith("-") && name !== "HEAD";
}

/** The same of a part of a ref's name, which may have slashes in it. */
export function isRefPath(name: string): boolean {
  if (name.includes("..") || name.includes("@{") || name.endsWith(".")) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses these
  if (/[\u0000- \u007f~^:?*[\\]/.test(name)) return false;
  return name
    .split("/")
    .every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}
