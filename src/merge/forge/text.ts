/** Texts of a forge come from anywhere: without control characters and marks that turn lines around. */
export function cleaned(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu,
    "",
  );
}

/** On one line, at most so long. */
export function oneLine(text: string, most: number): string {
  const line = cleaned(text).replace(/\s+/g, " ").trim();
  const letters = [...line];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : line;
}
