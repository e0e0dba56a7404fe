import { FakeCrew } from "./crew-host.ts";

/** Crews that many tests begin with, and times to count in. */
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export const member = (name: string, def: string, more = "") =>
  `* ${name}\n:PROPERTIES:\n:DEF: ${def}\n${more}:END:\n`;

/** The seed's manifest. */
export const NEWSROOM = `#+TITLE: crew — the bit.ml newsroom manifest
${member("desk", "desk.org", ":INTERVAL: 45m\n")}${member("moss", "researcher.org", ":INTERVAL: 15m\n")}
${member("wren", "writer.org", ":INTERVAL: 15m\n")}${member("hale", "editor.org", ":INTERVAL: 20m\n")}`;

export function newsroom(): FakeCrew {
  const fake = new FakeCrew();
  for (const def of ["desk", "researcher", "writer", "editor"]) {
    fake.texts.set(`/news/${def}.org`, `You are the ${def}.`);
  }
  return fake;
}

/** One member with an interval of ten minutes, unless `more` says otherwise. */
export function solo(more = ":INTERVAL: 10m\n"): FakeCrew {
  const fake = new FakeCrew();
  fake.texts.set("/news/moss.org", "You are moss.");
  return fake.up(member("moss", "moss.org", more), { graceMs: 0, staggerMs: 0 });
}
