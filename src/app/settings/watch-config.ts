import { basename, dirname } from "node:path";
import { isVivError } from "../../base/errors.ts";
import { stampOf, watchPaths } from "../../platform/files/watch.ts";
import type { ConfigRead } from "../../work/host.ts";
import { parseConfig } from "../config.ts";
import { readConfigFile } from "../find-run.ts";

/** A burst of changes is one: an editor writes, renames and removes. */
const SETTLE_MS = 100;
/** A mistake that stands for so long is no half-written file. */
const PATIENCE_MS = 1_500;

/**
 * Calls back when a viv.toml has changed: with the new one, or with what is wrong with it. A file that
 * cannot be used may be half-written (truncated and not filled yet, moved away and not back), so its
 * mistakes are told only when they stand. Told once: the next call is about another content.
 */
export function watchConfig(
  file: string,
  act: (read: ConfigRead) => void,
  {
    settleMs = SETTLE_MS,
    patienceMs = PATIENCE_MS,
    counts,
  }: { settleMs?: number; patienceMs?: number; counts?: string } = {},
): () => void {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let told = counts ?? textOf(file);
  const lookAfter = (ms: number, isPatient: boolean) => {
    clearTimeout(timer);
    if (!isOver) timer = setTimeout(() => void look(isPatient), ms).unref();
  };
  const look = async (isPatient: boolean) => {
    const stamp = stampOf(file);
    const text = textOf(file);
    if (text === told) return;
    const read = await readAgain(file);
    if (isOver) return;
    if (stampOf(file) !== stamp) return lookAfter(settleMs, false); // written meanwhile
    if ("problem" in read && isPatient) return lookAfter(patienceMs, false);
    told = text;
    act(read);
  };
  const unwatch = watchPaths(
    [dirname(file)],
    (name) => {
      if (name === null || name === basename(file)) lookAfter(settleMs, true);
    },
    { isBackground: true },
  );
  if (counts !== undefined && textOf(file) !== counts) lookAfter(settleMs, true);
  return () => {
    isOver = true;
    clearTimeout(timer);
    unwatch();
  };
}

async function readAgain(file: string): Promise<ConfigRead> {
  try {
    const text = readConfigFile(file);
    if (text.trim() === "") return { problem: `${file} is empty.` };
    return { config: await parseConfig(text, file) };
  } catch (error) {
    if (isVivError(error)) return { problem: error.message };
    throw error;
  }
}

/** Null when it cannot be read: that is a content, too. */
function textOf(file: string): string | null {
  try {
    return readConfigFile(file);
  } catch {
    return null; // `readAgain` tells why
  }
}
