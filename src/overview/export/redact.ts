import { withoutKnown, withoutSecrets } from "../../operation/secrets.ts";

/**
 * Takes out of a text that is published: paths of this machine, names of its host and user, and what
 * looks like a secret. Every text of an export goes through it. It cannot know all secrets: a person
 * who publishes artifacts still reads them, or leaves them out.
 */
export interface Private {
  /** Folders of this machine, and what stands for them. */
  folders: readonly (readonly [path: string, shown: string])[];
  /** First parts of absolute paths that are of this machine: `home`, `tmp`. */
  roots: readonly string[];
  /** Names, and what stands for them. Whole words only. */
  names: readonly (readonly [name: string, shown: string])[];
  /** Known secrets, literally. */
  secrets: readonly string[];
  /** Texts that are left out: ` --run DIR` in commands. */
  dropped: readonly string[];
}

export type Redact = (text: string) => string;

const MAIL = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}\.[a-z]{2,24}\b/gi;

export function redactor(known: Private): Redact {
  const literal: Redact[] = [
    ...known.dropped.filter(Boolean).map(
      (one): Redact =>
        (text) =>
          text.replaceAll(one, ""),
    ),
    (text) => withoutKnown(text, known.secrets),
    withoutSecrets,
    (text) => text.replace(MAIL, "[redacted e-mail]"),
  ];
  const folders = byLength(known.folders).map(([path, shown]): Redact => {
    const pattern = new RegExp(`${literally(path)}(?![\\w-]|\\.\\w)`, "g");
    return (text) => (text.includes(path) ? text.replace(pattern, shown) : text);
  });
  const names = byLength(known.names).map(([name, shown]): Redact => {
    const pattern = new RegExp(`(?<![A-Za-z0-9])${literally(name)}(?![A-Za-z0-9])`, "gi");
    return (text) => text.replace(pattern, shown);
  });
  const steps = [...literal, ...folders, pathsBelow(known.roots), ...names];
  return (text) => steps.reduce((said, step) => step(said), text);
}

type Pair = readonly [text: string, shown: string];

/** The longest first: a folder before the one that it is in. */
function byLength(pairs: readonly Pair[]): Pair[] {
  return [...pairs].sort(([a], [b]) => b.length - a.length);
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** `…/name` for any other path; those of the system (`/usr/bin/env`) are everyone's. URLs stay. */
function pathsBelow(roots: readonly string[]): Redact {
  if (roots.length === 0) return (text) => text;
  const part = "[^\\s\"'`<>|:;,(){}\\[\\]*?\\\\]";
  const path = `\\/(?:${roots.map(literally).join("|")})(?:\\/${part}*)?(?![\\w-])`;
  const pattern = new RegExp(
    `file:\\/\\/${part}*|https?:\\/\\/${part}+|(?<![\\w.~/-])${path}`,
    "gi",
  );
  return (text) => {
    if (!text.includes("/")) return text;
    return text.replace(pattern, (found) =>
      /^https?:/i.test(found) ? found : `…/${found.replace(/\/+$/, "").split("/").at(-1)}`,
    );
  };
}
