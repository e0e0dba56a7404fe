/**
 * The branch of a task. Different ids have different branches: what git does not take in a name is
 * written as %XX, and ids have no % in them (a foreign one that has gets %25).
 */
export function branchOf(id: string): string {
  const safe = id.replace(/[^A-Za-z0-9._-]/gu, (character) =>
    [...Buffer.from(character)].map(percent).join(""),
  );
  // Not `..` anywhere, no `.` at the beginning, and neither `.` nor `.lock` at the end.
  return `viv/${safe.replace(/^\.|\.(?=\.|$|lock$)/g, percent(0x2e))}`;
}

function percent(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}
