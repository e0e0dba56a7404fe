import type { ModelMessage } from "ai";
import { capped } from "./capped-text.ts";

/** A result that is old is shortened to this, and to nothing less. */
const SHORT_CHARS = 400;
/** The model is likely still at work on these. */
const RECENT_TURNS = 3;

/** So that the model does not take what it has forgotten for what it has not done. */
const NOTE: ModelMessage = {
  role: "user",
  content: "[Turns from here on were left out to save room. What they did to the files is done.]",
};
const isNote = (message: ModelMessage) => message.content === NOTE.content;

/** What a conversation takes in the window, roughly: what is sent is this and little more. */
export function sizeOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + charsOf(message), 0);
}

const charsOf = (message: ModelMessage) => JSON.stringify(message.content).length;

/** How many tokens so many characters are: four each, corrected by what the API has counted. */
export class Gauge {
  #perChar = 0.25;

  tokens(chars: number): number {
    return Math.ceil(chars * this.#perChar);
  }

  chars(tokens: number): number {
    return Math.floor(tokens / this.#perChar);
  }

  learn(chars: number, tokens: number): void {
    // A count that is out of all reason (a server that counts only the new part) teaches nothing.
    if (chars > 0 && tokens > 0) this.#perChar = clamp(tokens / chars, 0.2, 1.5);
  }
}

const clamp = (x: number, low: number, high: number) => Math.min(high, Math.max(low, x));

export interface Fit {
  messages: ModelMessage[];
  shortened: number;
  dropped: number;
}

/**
 * Makes a conversation fit into so many characters: old results of tools are shortened first, then
 * the oldest turns are dropped, and last the recent results are shortened. The first prompt and the
 * last stay whatever happens. A result and its call go together, or the API would refuse the rest.
 */
export function fitContext(messages: readonly ModelMessage[], limitChars: number): Fit {
  const fit: Fit = { messages: [...messages], shortened: 0, dropped: 0 };
  const excess = () => sizeOf(fit.messages) - limitChars;
  if (excess() <= 0) return fit;
  shortenResults(fit, RECENT_TURNS);
  if (excess() <= 0) return fit;
  dropTurns(fit, excess() + charsOf(NOTE));
  if (excess() > 0) shortenResults(fit, 0);
  return fit;
}

function shortenResults(fit: Fit, sparedTurns: number): void {
  const results = fit.messages.filter((one) => one.role === "tool");
  const isSpared = new Set(results.slice(results.length - sparedTurns));
  fit.messages = fit.messages.map((message) => {
    if (message.role !== "tool" || isSpared.has(message)) return message;
    let isChanged = false;
    const content = message.content.map((part) => {
      if (part.type !== "tool-result") return part;
      const { output } = part;
      if (output.type !== "text" && output.type !== "error-text") return part;
      // What is short already must not be touched again: its note would grow, and the cache miss.
      if (output.value.length <= SHORT_CHARS * 1.25) return part;
      isChanged = true;
      return { ...part, output: { ...output, value: capped(output.value, SHORT_CHARS) } };
    });
    if (isChanged) fit.shortened++;
    return isChanged ? { ...message, content } : message;
  });
}

function dropTurns(fit: Fit, excess: number): void {
  const turns = turnsOf(fit.messages);
  const lastPrompt = turns.findLastIndex(([first]) => first?.role === "user" && !isNote(first));
  let left = excess;
  const kept = turns.filter((turn, i) => {
    const isFixed = i === 0 || i === lastPrompt || i === turns.length - 1;
    if (isFixed || left <= 0) return true;
    left -= sizeOf(turn);
    fit.dropped++;
    return false;
  });
  if (fit.dropped > 0) kept.splice(1, 0, [NOTE]);
  fit.messages = kept.flat();
}

/** A prompt, or an answer with the results of its calls. */
function turnsOf(messages: readonly ModelMessage[]): ModelMessage[][] {
  const turns: ModelMessage[][] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (message.role === "tool" && last) last.push(message);
    else turns.push([message]);
  }
  return turns;
}
