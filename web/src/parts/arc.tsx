/** A part of a circle, from its top clockwise. */
export function Arc({ at, r, share }: { at: number; r: number; share: number }) {
  const round = 2 * Math.PI * r;
  const dashes = `${(share * round).toFixed(1)} ${round.toFixed(1)}`;
  return <circle class="arc" cx={at} cy={at} r={r} stroke-dasharray={dashes} />;
}
