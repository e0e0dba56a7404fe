export interface FirstText {
  text: string;
  /** Bytes of the answer that were not read. */
  rest: number;
}

/** The beginning of an answer. The rest is not fetched: what an agent wrote may be gigabytes. */
export async function firstText(response: Response, most: number): Promise<FirstText> {
  const reader = response.body?.getReader();
  if (reader === undefined) return { text: "", rest: 0 };
  const decoder = new TextDecoder();
  let text = "";
  let read = 0;
  while (read < most) {
    const { value, done } = await reader.read();
    if (done) return { text: text + decoder.decode(), rest: 0 };
    const wanted = value.subarray(0, most - read);
    // A character that is cut off at the end is left out.
    text += decoder.decode(wanted, { stream: true });
    read += wanted.length;
  }
  await reader.cancel();
  const size = Number(response.headers.get("content-length"));
  return { text, rest: Math.max(0, size - read) };
}
