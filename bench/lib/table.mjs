// A row: { measure, ours, peer, unit, ratio, target, judged, samples } or { measure, skipped }.
// `target` is { atLeast | atMost | moreThan | under: number }; `judged` says what it is about:
// "ratio" (the default) or "ours". A row without a target is there to be read.

const TESTS = {
  atLeast: { sign: "≥", holds: (value, limit) => value >= limit },
  atMost: { sign: "≤", holds: (value, limit) => value <= limit },
  moreThan: { sign: ">", holds: (value, limit) => value > limit },
  under: { sign: "<", holds: (value, limit) => value < limit },
};

/** True, false, or null when there is nothing to judge. */
export function judge(row) {
  if (row.skipped || !row.target) return null;
  const [kind, limit] = Object.entries(row.target)[0];
  return TESTS[kind].holds(row.judged === "ours" ? row.ours : row.ratio, limit);
}

export function printTable(rows) {
  const head = ["measure", "ours", "bare/peer", "ratio", "target", ""];
  const lines = [head, ...rows.map(cellsOf)];
  const widths = head.map((_, i) => Math.max(...lines.map((cells) => cells[i].length)));
  const line = (cells) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
      .join("  ");
  console.log(`\n${line(head)}\n${widths.map((width) => "-".repeat(width)).join("  ")}`);
  for (const cells of lines.slice(1)) console.log(line(cells).trimEnd());
}

function cellsOf(row) {
  if (row.skipped) return [row.measure, "", "", "", "", `skipped: ${row.skipped}`];
  return [
    row.measure,
    quantity(row.ours, row.unit),
    row.peer === undefined ? "" : quantity(row.peer, row.unit),
    row.ratio === undefined ? "" : row.ratio.toFixed(2),
    targetText(row),
    row.ok === null ? "" : row.ok ? "ok" : "MISS",
  ];
}

function targetText(row) {
  if (!row.target) return "";
  const [kind, limit] = Object.entries(row.target)[0];
  const what = row.judged === "ours" ? quantity(limit, row.unit) : String(limit);
  return `${TESTS[kind].sign} ${what}`;
}

function quantity(value, unit) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return unit.startsWith("/") ? `${text}${unit}` : `${text} ${unit}`;
}
