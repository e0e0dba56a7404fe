import { VivError } from "../../base/errors.ts";
import { askGitNow, lastWord } from "./git.ts";

/** All settings that hold in a folder, their names in small letters, and who commits there. */
export function gitVariables(cwd: string): Map<string, string> {
  const answer = askGitNow(["var", "-l"], { cwd });
  if (answer.status !== 0) {
    throw new VivError("RUN_INVALID", `git var failed in ${cwd}: ${lastWord(answer.stderr)}.`);
  }
  const said = new Map<string, string>();
  for (const line of answer.stdout.toString("utf8").split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) said.set(line.slice(0, at), line.slice(at + 1));
  }
  return said;
}
