/** After how many ms the times in these sentences are others: of seconds sooner; null: there are none. */
export function agesIn(reasons: readonly { text: string }[]): number | null {
  const texts = reasons.map(({ text }) => text).join(" ");
  if (!/\b\d+[smhd]\b/.test(texts)) return null;
  return /\b\d+s\b/.test(texts) ? 10_000 : 60_000;
}
