import { VivError } from "../model/errors.ts";
import { askGit, lastWord } from "./git.ts";

/** Who a commit is by, as a commit says it. */
export interface Identity {
  author: string;
  committer: string;
}

/** Git's own answer; where nobody has told git a name, the agent's. */
export async function identityFor(agent: string, cwd: string): Promise<Identity> {
  const answer = await askGit(["var", "-l"], { cwd });
  if (answer.status !== 0) {
    throw new VivError("RUN_INVALID", `git var failed in ${cwd}: ${lastWord(answer.stderr)}.`);
  }
  const said = new Map<string, string>();
  for (const line of answer.stdout.toString("utf8").split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) said.set(line.slice(0, at), line.slice(at + 1));
  }
  const who = (kind: "author" | "committer") => {
    const capitals = `GIT_${kind.toUpperCase()}`;
    const ident = said.get(`${capitals}_IDENT`) ?? "";
    const [, name = "", email = "", when = ""] = /^(.*) <(.*)> (\d+ [+-]\d+)$/.exec(ident) ?? [];
    const has = (key: string) =>
      Boolean(process.env[`${capitals}_${key.toUpperCase()}`]) ||
      Boolean(said.get(`user.${key}`) ?? said.get(`${kind}.${key}`)) ||
      (key === "email" && Boolean(process.env.EMAIL));
    return `${has("name") ? name : agent} <${has("email") ? email : `${agent}@localhost`}> ${when}`;
  };
  return { author: who("author"), committer: who("committer") };
}
