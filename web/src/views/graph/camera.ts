/** Where the drawing is seen from. A point of it is shown at `x + zoom · its x`. */
export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

interface Size {
  width: number;
  height: number;
}

const LEAST = 0.08;
const MOST = 2.5;
const PADDING = 24;

/** All of it, hardly enlarged, in the middle; a drawing that would be too small begins at its left. */
export function fitted(drawing: Size, box: Size): Camera {
  const room = { width: box.width - 2 * PADDING, height: box.height - 2 * PADDING };
  const whole = Math.min(
    1.25,
    room.width / Math.max(1, drawing.width),
    room.height / Math.max(1, drawing.height),
  );
  const zoom = Math.max(box.width < 600 ? LEAST_ON_PHONE : LEAST_FITTED, whole);
  const x = Math.max(PADDING, (box.width - drawing.width * zoom) / 2);
  const isHigh = drawing.height * zoom > room.height;
  const y = isHigh ? PADDING : (box.height - drawing.height * zoom) / 2;
  return { x, y, zoom };
}

/** Smaller than this, no name can be read: only states are shown. */
export const READABLE = 0.6;
/** Smaller than this, no state can be told. */
const LEAST_FITTED = 0.28;
const LEAST_ON_PHONE = 0.72;

export function panned({ x, y, zoom }: Camera, dx: number, dy: number): Camera {
  return { x: x + dx, y: y + dy, zoom };
}

/** The point under (x, y) stays there. */
export function zoomed(camera: Camera, by: number, x: number, y: number): Camera {
  const zoom = Math.min(MOST, Math.max(LEAST, camera.zoom * by));
  const grown = zoom / camera.zoom;
  return { x: x - (x - camera.x) * grown, y: y - (y - camera.y) * grown, zoom };
}

/** Moved as little as possible, so that this node is seen whole. */
export function shownAt(camera: Camera, at: { x: number; y: number }, node: Size, box: Size) {
  const into = (start: number, size: number, room: number) => {
    if (start < PADDING) return PADDING - start;
    return start + size > room - PADDING ? room - PADDING - size - start : 0;
  };
  const { zoom } = camera;
  return panned(
    camera,
    into(camera.x + at.x * zoom, node.width * zoom, box.width),
    into(camera.y + at.y * zoom, node.height * zoom, box.height),
  );
}
