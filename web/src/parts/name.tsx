/** Seen also where the rest is cut: names often differ only at their end. */
const TAIL = 8;

/** A name in bold; a long one that does not fit is cut in its middle, and read whole. */
export function Name({ text }: { text: string }) {
  const head = text.length > 2 * TAIL ? text.slice(0, -TAIL) : "";
  return (
    <b class="name-of" title={text}>
      {head !== "" && <span class="unseen">{text}</span>}
      <bdi class="cut" aria-hidden={head !== ""}>
        {head || text}
      </bdi>
      {head !== "" && <bdi aria-hidden="true">{text.slice(-TAIL)}</bdi>}
    </b>
  );
}
