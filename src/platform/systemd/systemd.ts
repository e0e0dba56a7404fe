import { VivError } from "../../base/errors.ts";

/**
 * How words are written in a systemd unit (systemd.syntax, systemd.service, systemd.unit), so that
 * systemd reads them as they were:
 *   everywhere    % begins a specifier, so it is doubled
 *   a quoted word is in double quotes, with a backslash before quotes and backslashes
 *   an argument   is a quoted word in which $ is doubled, or a variable would be put in its place
 *   a plain value is the rest of its line: quotes mean themselves there
 */

/** A control character would end the line or be refused, whatever stands before it. */
function oneLine(text: string, what: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (!/[\u0000-\u001f\u007f]/.test(text)) return text;
  throw new VivError(
    "INVALID",
    `${what} ${JSON.stringify(text)} has a control character in it, which a systemd unit cannot hold.`,
  );
}

/** For settings that take words, like Environment=. */
export function quotedWord(text: string, what: string): string {
  const word = oneLine(text, what).replaceAll("%", "%%");
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `"${word.replace(/["\\]/g, "\\$&")}"`;
}

/** For WorkingDirectory= and its like. */
export function plainPath(path: string, what: string): string {
  const value = oneLine(path, what).replaceAll("%", "%%");
  // A space at the end of a line is not seen, and a backslash there means that the line goes on.
  return /[\s\\]$/.test(value) ? `${value}/.` : value;
}

/** For ExecStart=. The first word is a program's absolute path. */
export function commandLine(argv: readonly string[]): string {
  const [program = "", ...rest] = argv;
  // systemd takes no quotes and backslashes in a program's path, and no $$ for $ either; what a
  // shell is given may have all of them.
  const words = /["'\\$]/.test(program)
    ? ["/bin/sh", "-c", 'exec "$0" "$@"', program, ...rest]
    : argv;
  return words.map((word) => quotedWord(word.replaceAll("$", "$$$$"), "the path")).join(" ");
}
