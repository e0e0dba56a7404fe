import { computed, signal } from "@preact/signals";
import { get, SESSION } from "./api.ts";

interface Session {
  run_id: string;
  run_dir: string;
  version: string;
  can_change: boolean;
}

const known = signal<Session | null>(null);

/** Which run this is, and whether this browser may change it; null before the first answer. */
export const session = computed(() => {
  if (known.value === null) return null;
  return { ...known.value, ...namesOf(known.value.run_dir) };
});

/** What a run is called: a folder that is only called run says nothing; the one around it does. */
export function namesOf(folder: string): { name: string; path: string } {
  const parts = folder.split("/").filter(Boolean);
  const last = parts.at(-1) ?? folder;
  const name = ["run", ".viv", "runs"].includes(last) ? (parts.at(-2) ?? last) : last;
  return { name, path: shortened(parts, folder) };
}

export async function readSession(): Promise<void> {
  try {
    const found = await get<Session>(SESSION);
    const before = known.value?.run_dir ?? found.run_dir;
    // The server of another run has this port now: nothing of the last one may stand beside it.
    if (found.run_dir !== before) return location.reload();
    known.value = found;
  } catch {
    // The banner of the connection says what is wrong; the next hello reads it again.
  }
}

/** The end of the path says most. */
function shortened(parts: readonly string[], whole: string): string {
  return parts.length <= 3 ? whole : `…/${parts.slice(-3).join("/")}`;
}
