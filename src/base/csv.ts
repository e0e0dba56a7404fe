/** One cell. A spreadsheet takes a text that begins like a formula for one, and models write texts. */
export function csvCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",'\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
