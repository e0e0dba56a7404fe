/** A unified diff as files and lines. */
export interface DiffLine {
  kind: "add" | "remove" | "same" | "hunk" | "note";
  text: string;
  before: number | null;
  after: number | null;
}

export interface DiffFile {
  path: string;
  lines: DiffLine[];
}

export function parseDiff(text: string): DiffFile[] {
  const files: DiffFile[] = [];
  let file: DiffFile | null = null;
  let isHead = false;
  let [before, after] = [0, 0];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    if (line.startsWith("diff --git ")) {
      file = { path: pathIn(line), lines: [] };
      files.push(file);
      isHead = true;
      continue;
    }
    if (file === null) continue;
    const hunk = /^@@+ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      isHead = false;
      file.lines.push({ kind: "hunk", text: line, before: null, after: null });
      continue;
    }
    if (isHead) {
      if (line.startsWith("+++ ")) file.path = nameIn(line.slice(4)) ?? file.path;
      else if (!/^(index|---) /.test(line)) {
        file.lines.push({ kind: "note", text: line, before: null, after: null });
      }
      continue;
    }
    const kind = line[0] === "+" ? "add" : line[0] === "-" ? "remove" : "same";
    if (line[0] === "\\") file.lines.push({ kind: "note", text: line, before: null, after: null });
    else {
      file.lines.push({
        ...{ kind, text: line.slice(1) },
        before: kind === "add" ? null : before++,
        after: kind === "remove" ? null : after++,
      });
    }
  }
  return files;
}

/** Of `diff --git a/PATH b/PATH`: both are the same where no other line says more. */
function pathIn(line: string): string {
  const rest = line.slice("diff --git ".length);
  if (rest.startsWith('"')) return nameIn(rest.slice(0, rest.indexOf('"', 1) + 1)) ?? rest;
  return rest.slice(2, (rest.length - 1) / 2);
}

/** Without `a/` or `b/`, and without git's quotes; null for /dev/null. */
function nameIn(given: string): string | null {
  const bare = given.replace(/\t$/, "");
  if (bare === "/dev/null") return null;
  const name = bare.startsWith('"') ? unquoted(bare) : bare;
  return name.replace(/^[ab]\//, "");
}

/** Git writes bytes of unusual names as octal numbers. */
function unquoted(quoted: string): string {
  const bytes: number[] = [];
  const signs: Record<string, number> = {
    n: 10,
    t: 9,
    r: 13,
    '"': 34,
    "\\": 92,
    a: 7,
    b: 8,
    f: 12,
    v: 11,
  };
  for (let at = 1; at < quoted.length - 1; at++) {
    const c = quoted[at] ?? "";
    if (c !== "\\") {
      bytes.push(...new TextEncoder().encode(c));
      continue;
    }
    const octal = /^[0-7]{3}/.exec(quoted.slice(at + 1));
    bytes.push(octal ? Number.parseInt(octal[0], 8) : (signs[quoted[at + 1] ?? ""] ?? 63));
    at += octal ? 3 : 1;
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
