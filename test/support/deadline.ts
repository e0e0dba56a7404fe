/** The promise's value, or an error that says what did not happen. */
export async function within<T>(what: string, promise: Promise<T>, seconds = 60): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`gave up after ${seconds} s: ${what}`)),
      seconds * 1000,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Where a look starts a program, looking all the time would slow down what is waited for. */
const LONGEST_PAUSE_MS = 500;

/** Looks every few milliseconds until it is so, or gives up and says what never happened. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  seconds = 60,
): Promise<void> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const began = performance.now();
    if (await isSo()) return;
    if (Date.now() > end) throw new Error(`gave up after ${seconds} s: ${what}`);
    const pause = Math.min(Math.max(10, performance.now() - began), LONGEST_PAUSE_MS);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
