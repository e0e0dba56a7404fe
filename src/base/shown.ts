/** What somebody wrote, quoted and on one line, and not more of it than tells which. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
