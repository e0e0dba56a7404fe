/** Who a commit is by, as a commit says it. */
export interface Identity {
  author: string;
  committer: string;
}

/** Git's own answer, from its variables; where nobody has told git a name, the agent's. */
export function identityFor(agent: string, said: ReadonlyMap<string, string>): Identity {
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
