export const NODE_HEIGHT = 26;
export const ROW_GAP = 12;
export const BEND_GAP = 6;
export const COLUMN_GAP = 56;
export const SUBCOLUMN_GAP = 28;
/** A layer with no more nodes is one column. */
const LEAST_ROWS = 24;
/** A screen is so much wider than high; a drawing of this height has names that can be read there. */
const WIDE = 1.7;
const READABLE_SIZE = 1_000;

/**
 * The rows of each layer, from top to bottom: its nodes in order, side by side where one column would
 * make the drawing much higher than wide; a bend is a row of its own.
 */
export function rowsOf(
  layers: readonly (readonly number[])[],
  isBend: (node: number) => boolean,
  nodeWidth: number,
): number[][][] {
  const sizes = layers.map((layer) => layer.filter((node) => !isBend(node)).length);
  const most = Math.max(...sizes);
  const shapes: { wide: number[]; size: number }[] = [];
  for (let count = 1; count === 1 || most / count >= LEAST_ROWS; count++) {
    const high = Math.ceil(most / count);
    const wide = sizes.map((size) => Math.max(1, Math.ceil(size / high)));
    const columns = wide.reduce((sum, n) => sum + n * (nodeWidth + SUBCOLUMN_GAP), 0);
    const width = columns + layers.length * (COLUMN_GAP - SUBCOLUMN_GAP);
    const height = layers.map((layer, at) => {
      const size = sizes[at] ?? 0;
      const bends = (layer.length - size) * BEND_GAP;
      return Math.ceil(size / (wide[at] ?? 1)) * (NODE_HEIGHT + ROW_GAP) + bends;
    });
    shapes.push({ wide, size: Math.max(width / WIDE, ...height) });
  }
  const least = Math.min(...shapes.map(({ size }) => size));
  // Columns side by side are harder to follow: as few as make it readable, or else not much smaller.
  const enough = least > READABLE_SIZE ? 1.4 * least : READABLE_SIZE;
  const { wide = [] } = shapes.find(({ size }) => size <= enough) ?? {};
  return layers.map((layer, at) => {
    const rows: number[][] = [];
    let open: number[] = [];
    for (const node of layer) {
      if (isBend(node)) rows.push([node]);
      else if (open.push(node) === 1) rows.push(open);
      if (open.length === wide[at]) open = [];
    }
    return rows;
  });
}
