/**
 * What may stand around a command in backticks or in a fence, so that its success is what the
 * sentence means. Anything else makes the whole value one for a person: there are more ways to
 * mean the opposite ("finds nothing", "is empty", "unless …") than a list could name.
 */

const FINE = "(?:green|ok|okay|fine)";
const EACH = "(?:(?:both|all) )?";
const ZERO = "(?:with )?(?:an? )?(?:(?:exit )?(?:code|status) )?(?:of )?(?:0|zero)";
const RUN_WELL = "(?: through)?(?: without (?:errors?|an error)| cleanly)?";

const SUCCEEDS = `${EACH}(?:${[
  `(?:is|are) ${EACH}${FINE}`,
  `(?:must|should) ${EACH}(?:be ${EACH}${FINE}|pass|succeed|work|(?:exit|return) ${ZERO}|run${RUN_WELL})`,
  "pass(?:es)?|succeeds?|works?",
  `(?:exits?|returns?) ${ZERO}`,
  `runs?${RUN_WELL}`,
].join("|")})`;
const VERDICT = `[,:–—-]? ?(?<verdict>${SUCCEEDS}(?: and ${SUCCEEDS})??)`;
const JOINT =
  "(?<joint>[,;.]|[,;.]? ?(?:and|and then|then|and also|also|as well as|plus|&&|&|\\+))";
const COMMANDS = "(?:(?:the|this|these) )?(?:following )?commands?";

/** Promises that the command makes good. Without the colon they would be demands of their own. */
const PROMISE = `(?:${[
  "(?:all )?(?:the )?(?:unit )?tests (?:pass|are green)",
  "(?:this|the following)(?: command)? (?:passes|succeeds|works)",
  "(?:all(?: of)? )?(?:these|the following)(?: commands)? (?:pass|succeed|work|are green)",
].join("|")}) ?:`;

const BEFORE = new RegExp(
  `^(?:when ?)?(?:${PROMISE}|(?:run ?)?(?:(?:both|all)(?: of)? ?)?(?:${COMMANDS})? ?:?)?$`,
);
const BETWEEN = new RegExp(
  `^(?:${VERDICT})? ?${JOINT}?(?<more> ?(?:run|both|all|${COMMANDS}))? ?:?$`,
);
const ONLY_JOINT = new RegExp(`^${JOINT}$`);
const BEHIND = new RegExp(`^(?:${VERDICT})? ?[.,;!]?$`);

/** Longer than anything that is understood. */
const LONGEST = 200;

/** Without emphasis, quotes and breaks, which say nothing. */
function said(text: string): string | null {
  const bare = text.trim();
  if (bare.length > LONGEST) return null;
  return bare.replace(/[*_"]/g, "").replace(/\s+/g, " ").trim().toLowerCase();
}

export function leadsIn(before: string): boolean {
  const text = said(before);
  return text !== null && BEFORE.test(text);
}

/**
 * Do the words around commands ask for nothing but that all of them succeed? The first text stands
 * before the first command, the last behind the last.
 */
export function asksForSuccess(texts: string[]): boolean {
  return texts.every((text, i) => {
    if (i === 0) return leadsIn(text);
    return i === texts.length - 1 ? BEHIND.test(said(text) ?? "?") : joins(text);
  });
}

function joins(gap: string): boolean {
  const groups = BETWEEN.exec(said(gap) ?? "?")?.groups;
  if (groups === undefined) return false;
  // "`a` passes `b`" is no sentence, and "`a` run `b`" may be any.
  const isParted = groups.joint !== undefined || gap.includes("\n");
  return isParted || (groups.verdict ?? groups.more) === undefined;
}

/** Nothing is said, except "and". */
export function saysNothing(texts: string[]): boolean {
  return texts.every((text, i) => {
    const bare = said(text);
    return bare === "" || (i > 0 && bare !== null && ONLY_JOINT.test(bare));
  });
}

/** Where a comment begins, or -1. */
export function commentIn(gap: string): number {
  return /\s#(?=\s|$)/.exec(gap)?.index ?? -1;
}
