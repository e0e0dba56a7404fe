import type { DoctorReport, Finding } from "../../store.ts";
import { translate } from "../files/atomic.ts";
import { type FsRun, record } from "../run.ts";
import { checkDerived } from "./derived.ts";
import { checkIndexes } from "./indexes.ts";
import { checkLedger } from "./ledger.ts";
import { checkPlaces } from "./places.ts";
import { checkProcesses } from "./processes.ts";
import { checkStatus } from "./status.ts";
import { checkTemporaries } from "./temporaries.ts";
import { checkWorkers } from "./workers.ts";

/** One examination: collects findings, and repairs each at once when asked to. */
export interface Examination {
  readonly run: FsRun;
  readonly fix: boolean;
  readonly checked: Record<string, number>;
  /** Reports a finding; with `fix`, runs `repair` (true: repaired) before going on. */
  find(finding: Omit<Finding, "fixed">, repair?: () => boolean | Promise<boolean>): Promise<void>;
}

/**
 * Checks every invariant of SPEC.md §8. Repairs move, link and rewrite what is derived; they never
 * delete work: what cannot stay where it is goes to quarantine/ with the reason beside it.
 */
export async function examineRun(run: FsRun, fix: boolean): Promise<DoctorReport> {
  const findings: Finding[] = [];
  const examination: Examination = {
    run,
    fix,
    checked: {},
    async find(finding, repair) {
      const fixed = fix && ((await repair?.()) ?? false);
      findings.push({ ...finding, fixed });
      if (fixed) record(run, { event: "repaired", code: finding.code, path: finding.path });
    },
  };
  try {
    await checkDerived(examination);
    await checkTemporaries(examination);
    const places = await checkPlaces(examination);
    await checkWorkers(examination);
    await checkProcesses(examination);
    const ours = await checkLedger(examination);
    await checkIndexes(examination, places, ours);
    await checkStatus(examination);
    await run.hooks?.examine(examination, places);
  } catch (error) {
    throw translate(error, "examining the run");
  }
  return { findings, checked: examination.checked };
}
