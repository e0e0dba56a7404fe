// A PNG with a palette, for pictures of a page: a few hundred colours and their mixtures with the
// background. A third of the size of one with all colours, and no eye sees the difference.

import { crc32, deflateSync } from "node:zlib";

/** `rgba`: four bytes for each pixel; the fourth is not used. */
export function smallPng(width, height, rgba) {
  const { palette, indexOf } = paletteOf(rgba);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0, at = 0; y < height; y++) {
    const row = y * (width + 1); // the first byte of a row names its filter: none
    for (let x = 1; x <= width; x++, at += 4) rows[row + x] = indexOf(rgba, at);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // eight bits, a palette
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(palette.flat())),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const all = Buffer.alloc(body.length + 8);
  all.writeUInt32BE(data.length, 0);
  all.set(body, 4);
  all.writeUInt32BE(crc32(body) >>> 0, body.length + 4);
  return all;
}

/** The colours that are most often there; each other one is drawn with the nearest of them. */
function paletteOf(rgba) {
  const counts = new Map();
  for (let at = 0; at < rgba.length; at += 4) {
    const color = (rgba[at] << 16) | (rgba[at + 1] << 8) | rgba[at + 2];
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const often = [...counts].sort(([, a], [, b]) => b - a).map(([color]) => color);
  const chosen = [];
  // Colours that are nearly the same share a place, so that rare ones have theirs too.
  for (const apart of [12, 6, 0]) {
    for (const color of often) {
      if (chosen.length === 256) break;
      if (chosen.every((one) => distance(one, color) > apart * apart)) chosen.push(color);
    }
  }
  const nearest = new Map();
  const indexOf = (pixels, at) => {
    const color = (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
    const known = nearest.get(color);
    if (known !== undefined) return known;
    let best = 0;
    for (let i = 1; i < chosen.length; i++) {
      if (distance(chosen[i], color) < distance(chosen[best], color)) best = i;
    }
    nearest.set(color, best);
    return best;
  };
  return { palette: chosen.map((one) => [one >> 16, (one >> 8) & 255, one & 255]), indexOf };
}

function distance(a, b) {
  const red = (a >> 16) - (b >> 16);
  const green = ((a >> 8) & 255) - ((b >> 8) & 255);
  const blue = (a & 255) - (b & 255);
  return red * red + green * green + blue * blue;
}
