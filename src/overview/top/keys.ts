/** What a terminal sends for the keys that have no character. */
const SEQUENCES: Readonly<Record<string, string>> = {
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  OA: "up",
  OB: "down",
  OC: "right",
  OD: "left",
  "[H": "home",
  "[F": "end",
  OH: "home",
  OF: "end",
  "[1~": "home",
  "[4~": "end",
  "[7~": "home",
  "[8~": "end",
  "[5~": "pageup",
  "[6~": "pagedown",
  "[3~": "delete",
  "[Z": "backtab",
  OP: "f1",
  OQ: "f2",
  OR: "f3",
  OS: "f4",
  "[[A": "f1",
  "[[B": "f2",
  "[[C": "f3",
  "[[D": "f4",
  "[[E": "f5",
  "[11~": "f1",
  "[12~": "f2",
  "[13~": "f3",
  "[14~": "f4",
  "[15~": "f5",
  "[17~": "f6",
  "[18~": "f7",
  "[19~": "f8",
  "[20~": "f9",
  "[21~": "f10",
};

const CONTROLS: Readonly<Record<string, string>> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u0003": "ctrl-c",
  "\u000c": "ctrl-l",
  "\u001a": "ctrl-z",
};

const ESC = "\u001b";
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape begins it
const SEQUENCE = /^\u001b(\[\[[A-E]|\[[0-9;?]*[ -/]*[@-Z\\-~]|O[A-Za-z])/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const BEGUN = /^\u001b(\[\[?[0-9;?]*|O)?$/;

/**
 * The keys in what came from the terminal: a character stands for itself. A sequence may be cut:
 * `rest` is put before what comes next. With `isAll` nothing comes, and an escape is the key.
 */
export function keysIn(text: string, isAll = false): { keys: string[]; rest: string } {
  const keys: string[] = [];
  let at = 0;
  while (at < text.length) {
    const left = text.slice(at);
    const sequence = SEQUENCE.exec(left);
    if (sequence !== null) {
      const key = SEQUENCES[sequence[1] as string];
      if (key !== undefined) keys.push(key);
      at += sequence[0].length;
    } else if (left.startsWith(ESC)) {
      if (!isAll && BEGUN.test(left)) return { keys, rest: left };
      keys.push("escape");
      at++;
    } else {
      const [character = ""] = left;
      const control = CONTROLS[character];
      if (control !== undefined) keys.push(control);
      else if (character >= " ") keys.push(character);
      at += character.length;
    }
  }
  return { keys, rest: "" };
}
