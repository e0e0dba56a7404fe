// The server's modes: what a model does, or which bad day it has. They are words joined by "+" in
// the first part of the path, some with a value ("sleep=5"), so that one server serves all tests.
//
// What it does when it is given work (a prompt, and tools to do it with):
//   ok          one shell command that writes "fixed" to report.txt, then a text
//   write       the same with the tool that writes files
//   run=CMD     that shell command (percent-encoded), then a text
//   talk        a text, no tool call
//   forget      a text and no tool call until a prompt says "did not count" (viv's next attempt)
//   loop        a tool call after each tool call, without end
//   sleep=N     a silent shell command of N seconds that also leaves a process in its own session
//               (codex tells its model after 30 s that it still runs, and the model ends its turn)
//   wait=N      the same without that process: opencode's tool call would wait for it, too
//   busy=N      a shell command of N seconds that is silent and uses the CPU
//   tick        a shell command that prints a line every two seconds for a quarter of an hour
//   ask         a shell command for which the program asks its person (as "ok"; codex needs to be
//               asked to leave its sandbox)
//
// How it answers a health check (a prompt with those words and a code); without one of these words
// such a prompt is work like any other:
//   alive=exact     "ALIVE <code>"            alive=json    {"status":"ALIVE","nonce":"<code>"}
//   alive=word      "ALIVE"                   alive=code    "<code>"
//   alive=words     a sentence with the word  alive=wrong   the word and a code that is not it
//   alive=reversed  "<code> ALIVE"            alive=mute    "I am on it.", neither word nor code
//   alive       = alive=exact
//
// Bad days:
//   429 401 402 403 404 500 503 529     that refusal
//     retry=N      429: seconds in retry-after (3600)
//     unified      429: as a subscription's limit is told
//   reset       the connection breaks in the middle of the answer
//   stall       the answer stops in the middle, the connection stays
//   truncated   the answer ends in the middle of its JSON
//   hang        takes the request and never answers
//   slow=N      N seconds before each answer
//   after=N     the bad day begins after N tool results of a turn
//   times=N     the bad day is over after N refused requests
//
// What it tells:
//   in=N out=N  tokens of each answer (1000, 50)
//   as=MODEL    the answer names another model than the request
//   tag=…       nothing: makes the mode a test's own, so that requests(mode) has only its requests

export const STATUSES = [401, 402, 403, 404, 429, 500, 503, 529];
const STREAM_TROUBLE = ["reset", "stall", "truncated"];
const KNOWN = new Set([
  ...[
    "ok",
    "write",
    "run",
    "talk",
    "forget",
    "loop",
    "sleep",
    "wait",
    "busy",
    "tick",
    "ask",
    "alive",
  ],
  ...["retry", "unified", ...STREAM_TROUBLE, "hang", "slow", "after", "times"],
  ...["in", "out", "as", "tag", ...STATUSES.map(String)],
]);

/** "loop+out=2000" as { loop: true, out: "2000" }. Values are percent-decoded once more. */
export function parseMode(segment) {
  const mode = {};
  for (const word of segment.split("+").filter(Boolean)) {
    const at = word.indexOf("=");
    const name = at === -1 ? word : word.slice(0, at);
    if (!KNOWN.has(name)) throw new Error(`no such mode: ${name}`);
    mode[name] = at === -1 ? true : decodeURIComponent(word.slice(at + 1));
  }
  return mode;
}

/** Tokens of one answer, with the cached part apart; each protocol tells them in its own way. */
export function usageOf(mode) {
  return {
    input: Number(mode.in ?? 1000),
    cacheRead: 200,
    cacheWrite: 30,
    output: Number(mode.out ?? 50),
    thought: 10,
  };
}

/**
 * What comes next: { refuse: status }, { hang }, { text }, { shell: command, asks } or
 * { file, content }; with `trouble` when its stream does not end well.
 *
 * `heard`: { tools, results, prompt, fresh, wantsJson }. results: tool results since the last
 * prompt. fresh: all that was said since the model's last answer. `count.refused`: bad days so far.
 */
export function decide(mode, heard, count) {
  const isWork = heard.tools.length > 0; // else a title, a summary, a choice of model
  const isBadNow =
    heard.results >= Number(mode.after ?? 0) && count.refused < Number(mode.times ?? Infinity);
  const status = STATUSES.find((code) => mode[code]);
  if (isBadNow && status) return { refuse: status };
  if (isBadNow && isWork && mode.hang) return { hang: true };
  const trouble = isBadNow && isWork ? STREAM_TROUBLE.find((name) => mode[name]) : undefined;
  const next = isWork ? work(mode, heard) : { text: heard.wantsJson ? AUXILIARY : "A test." };
  return trouble === undefined ? next : { ...next, trouble };
}

/** Fits what gemini's router and claude's titles ask a small model for. */
const AUXILIARY = '{"title":"A test","complexity_reasoning":"a test","complexity_score":10}';

function work(mode, heard) {
  const code = mode.alive === undefined ? null : healthCheckIn(heard.fresh);
  if (code !== null) return { text: answerTo(code, mode.alive === true ? "exact" : mode.alive) };
  if (mode.loop) return { shell: `echo ${heard.results} >> loop.txt` };
  if (mode.talk || heard.results > 0) return { text: "That was all: report.txt says so." };
  if (mode.forget && !heard.prompt.includes("did not count")) return { text: "It looks fine." };
  if (mode.write) return { file: "report.txt", content: "fixed\n" };
  return { shell: commandOf(mode), asks: mode.ask === true };
}

function commandOf(mode) {
  if (mode.run) return mode.run;
  // Two lengths, so that a test can tell the two processes apart. (claude refuses a plain sleep.)
  if (mode.sleep) return `setsid ${waiting(`${mode.sleep}1`)} & ${waiting(mode.sleep)}`;
  if (mode.wait) return waiting(mode.wait);
  if (mode.busy) return `timeout ${mode.busy} sh -c 'while :; do :; done'; true`;
  if (mode.tick) return "for i in $(seq 450); do echo tick $i; sleep 2; done";
  return "echo fixed > report.txt";
}

const waiting = (seconds) => `timeout ${seconds} tail -f /dev/null`;

const WORD = "ALIVE";
/**
 * The code of a warden's question, whatever its wording is: what follows "Nonce:", else what
 * follows the word, else any six letters and digits that are no plain word.
 */
export function healthCheckIn(text) {
  if (!/health[ -]check/i.test(text)) return null;
  const question = text.slice(text.search(/health[ -]check/i));
  const code =
    /\bnonce:\s*["'`]?([\w-]+)/i.exec(question)?.[1] ??
    /\bALIVE["'`]?[\s:,-]+["'`]?([A-Za-z0-9]{6})\b(?![a-z])/.exec(question)?.[1] ??
    question
      .match(/\b[A-Za-z0-9]{6}\b/g)
      ?.find((word) => /\d/.test(word) || !/^[A-Z]?[a-z]+$/.test(word));
  return code ?? null;
}

const ANSWERS = {
  exact: (code) => `${WORD} ${code}`,
  word: () => WORD,
  words: () => `Yes, I'm ${WORD} and working on the report.`,
  json: (code) => JSON.stringify({ status: WORD, nonce: code }),
  code: (code) => code,
  reversed: (code) => `${code} ${WORD}`,
  wrong: (code) =>
    `${WORD} ${[...code].reverse().join("") === code ? "zzzzzz" : [...code].reverse().join("")}`,
  mute: () => "I am on it.",
};

function answerTo(code, wording) {
  const answer = ANSWERS[wording];
  if (!answer) throw new Error(`no such answer: alive=${wording}`);
  return answer(code);
}
