import { type Dirent, readdirSync } from "node:fs";
import { errno } from "../files/atomic.ts";
import { quarantine } from "../files/quarantine.ts";
import { below, derivedFolders } from "../layout.ts";
import type { Examination } from "./doctor.ts";

/**
 * What lies below .viv/ are regular files; in due/, folders of them. Anything else is foreign: a
 * writer that needs the place moves it away, and the rest is found here.
 */
export async function checkDerived({ run, find }: Examination): Promise<void> {
  const { paths } = run;
  const report = (path: string, what: string) =>
    find(
      {
        code: "foreign_file",
        path: below(paths, path),
        message: what,
        repair: "move it to quarantine/",
      },
      () => quarantine(run, path, what),
    );
  const folders = new Set(derivedFolders(paths));
  for (const folder of folders) {
    for (const entry of entriesOf(folder)) {
      const path = `${folder}/${entry.name}`;
      if (folders.has(path) || (folder === paths.viv && entry.isDirectory())) continue;
      if (folder === paths.due && entry.isDirectory() && /^\d+$/.test(entry.name)) {
        for (const one of entriesOf(path))
          if (!one.isFile()) await report(`${path}/${one.name}`, NOT_A_FILE);
      } else if (!entry.isFile()) await report(path, NOT_A_FILE);
      else if (folder === paths.due) await report(path, "only folders of due times belong here");
    }
  }
}

const NOT_A_FILE = "not a regular file";

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR") return []; // made when it is needed
    throw error;
  }
}
