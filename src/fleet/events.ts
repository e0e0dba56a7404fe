/** What happens around a pit, as `viv up` tells it. */
export type UpEvent =
  | { kind: "up"; pid: number; pit: string; agents: string[] }
  /** A run of an earlier `viv up` that was still there. */
  | { kind: "leftover"; name: string; pid: number; survivors: number[] }
  | { kind: "started"; name: string; pid: number }
  | { kind: "ended"; name: string; exit: number | string | null; note: string }
  | { kind: "restarts"; name: string; after_ms: number }
  /** For its name, which another worker still has. */
  | { kind: "waits"; name: string; note: string }
  | { kind: "parked"; name: string; note: string }
  | { kind: "runs"; name: string; pid: number | null }
  | {
      kind: "ran";
      name: string;
      exit: number | string | null;
      duration_ms: number;
      next_run: string | null;
      note: string;
    }
  | { kind: "trouble"; name: string; message: string }
  | { kind: "stopping"; working: string[] }
  | { kind: "finished" };
