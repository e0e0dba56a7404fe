/** As long as one that is not cut. */
const TAIL = 8;

/** A name in bold; what does not fit is cut in its middle, as names often differ only at their end. */
export function Name({ text }: { text: string }) {
  return (
    <b class="name-of" title={text}>
      <bdi class="cut">{text.slice(0, -TAIL)}</bdi>
      <bdi>{text.slice(-TAIL)}</bdi>
    </b>
  );
}
