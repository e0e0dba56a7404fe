import type { Neighbour, Neighbours } from "../../live/shapes.ts";
import { count } from "../../parts/format.ts";
import { Glyph, type Tone } from "../../parts/glyph.tsx";
import { taskHref } from "../../shell/router.ts";

const MOST = 5;
const WIDTH = 256;
const NODE = 96;
const HEIGHT = 20;
const GAP = 6;

/** What it needs at the left, what needs it at the right. */
export function Neighbourhood({ of, tone, id }: { of: Neighbours; tone: Tone; id: string }) {
  const { needs, needed_by, parent, children, more } = of;
  const left = needs.slice(0, MOST);
  const right = needed_by.slice(0, MOST);
  const family = [
    ...(parent ? [{ ...parent, role: "parent" }] : []),
    ...children.slice(0, MOST).map((one) => ({ ...one, role: "child" })),
  ];
  if (left.length + right.length + family.length === 0) return null;
  const rows = Math.max(left.length, right.length, 1);
  const height = rows * (HEIGHT + GAP) - GAP + 2;
  const middle = height / 2;
  const y = (at: number, of: number) => middle + (at - (of - 1) / 2) * (HEIGHT + GAP);
  const hidden = [
    needs.length - left.length + more.needs > 0 &&
      `${count(needs.length - left.length + more.needs)} more needed`,
    needed_by.length - right.length + more.needed_by > 0 &&
      `${count(needed_by.length - right.length + more.needed_by)} more wait for it`,
  ].filter(Boolean);
  return (
    <section>
      <h2>Neighbours</h2>
      {left.length + right.length > 0 && (
        <svg
          class="kin"
          width="100%"
          viewBox={`0 0 ${WIDTH} ${height}`}
          role="group"
          aria-label={`What ${id} needs, and what needs it`}
        >
          {left.map((one, at) => (
            <path
              key={one.id}
              class="edge"
              d={curve(NODE, y(at, left.length), WIDTH / 2 - 13, middle)}
            />
          ))}
          {right.map((one, at) => (
            <path
              key={one.id}
              class="edge"
              d={curve(WIDTH / 2 + 13, middle, WIDTH - NODE, y(at, right.length))}
            />
          ))}
          <g
            class={`node is-self s-${tone}`}
            transform={`translate(${WIDTH / 2 - 13} ${middle - 10})`}
          >
            <rect width="26" height={HEIGHT} rx="5" />
            <g transform="translate(6 3)">
              <Glyph tone={tone} />
            </g>
          </g>
          {left.map((one, at) => (
            <Node key={one.id} of={one} x={0} y={y(at, left.length) - HEIGHT / 2} />
          ))}
          {right.map((one, at) => (
            <Node key={one.id} of={one} x={WIDTH - NODE} y={y(at, right.length) - HEIGHT / 2} />
          ))}
        </svg>
      )}
      {hidden.length > 0 && <p class="xs t3">{hidden.join(", ")}</p>}
      {family.length > 0 && (
        <ul class="family">
          {family.map((one) => (
            <li key={one.id} class="row">
              <Glyph tone={one.column ?? "none"} />
              <a class="id cut" href={taskHref(one.id)}>
                {one.id}
              </a>
              <span class="sm t3">{one.role}</span>
            </li>
          ))}
          {more.children + children.length - MOST > 0 && (
            <li class="xs t3">
              {count(children.length - Math.min(MOST, children.length) + more.children)} more
              children
            </li>
          )}
        </ul>
      )}
    </section>
  );
}

function curve(x0: number, y0: number, x1: number, y1: number): string {
  const middle = (x0 + x1) / 2;
  return `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`;
}

const LONGEST = 11;

function Node({ of: { id, column, title }, x, y }: { of: Neighbour; x: number; y: number }) {
  const short = id.length > LONGEST ? `${id.slice(0, LONGEST - 1)}…` : id;
  return (
    <a href={taskHref(id)} aria-label={`${id}, ${column ?? "unknown"}`}>
      <g class={`node s-${column ?? "none"}`} transform={`translate(${x} ${y})`}>
        <title>{title ? `${id}: ${title}` : id}</title>
        <rect width={NODE} height={HEIGHT} rx="5" />
        <g transform="translate(5 3)">
          <Glyph tone={column ?? "none"} />
        </g>
        <text x="24" y="14">
          {short}
        </text>
      </g>
    </a>
  );
}
