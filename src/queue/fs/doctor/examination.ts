import { Slices } from "../../../platform/slices.ts";
import type { DoctorReport, Finding, FindingCode, RunCheck } from "../../store.ts";
import { translate } from "../files/atomic.ts";
import { type FsRun, quarantine, record } from "../fs-run.ts";
import { below } from "../layout.ts";
import { checkCompletedTasks } from "./completed-tasks.ts";
import { checkNotes, checkWorkers } from "./dead-workers.ts";
import { checkIndexes } from "./indexes.ts";
import { checkPlaces } from "./places.ts";
import { checkDerived, checkTemporaries } from "./stray-files.ts";

/** One examination: collects findings, and repairs each at once with `fix`. */
export interface Examination {
  readonly run: FsRun;
  readonly fix: boolean;
  readonly checked: Record<string, number>;
  /** After each of many files: other work of the process goes on. */
  rest(): Promise<void> | undefined;
  /** Reports a finding; with `fix`, runs `repair` (true: repaired) before going on. */
  find(finding: Omit<Finding, "fixed">, repair?: () => boolean | Promise<boolean>): Promise<void>;
  /** Reports a file that is repaired by moving it to quarantine/. */
  findMisplaced(code: FindingCode, path: string, message: string): Promise<void>;
}

/**
 * Checks every invariant of SPEC.md §8. Repairs move, link and rewrite derived files; they never
 * delete work: a file that cannot stay goes to quarantine/ with the reason beside it.
 */
export async function examineRun(run: FsRun, fix: boolean, more?: RunCheck): Promise<DoctorReport> {
  const findings: Finding[] = [];
  const find: Examination["find"] = async (finding, repair) => {
    const fixed = fix && ((await repair?.()) ?? false);
    findings.push({ ...finding, fixed });
    if (fixed) record(run, { event: "repaired", code: finding.code, path: finding.path });
  };
  const findMisplaced: Examination["findMisplaced"] = (code, path, message) => {
    const finding = { code, path: below(run.paths, path), message };
    const repair = () => quarantine(run, path, message);
    return find({ ...finding, repair: "move it to quarantine/" }, repair);
  };
  const slices = new Slices();
  const rest = () => slices.rest();
  const examination: Examination = { run, fix, checked: {}, rest, find, findMisplaced };
  try {
    await checkDerived(examination);
    await checkTemporaries(examination);
    const places = await checkPlaces(examination);
    await checkWorkers(examination);
    await checkNotes(examination);
    await checkIndexes(examination, places);
    await checkCompletedTasks(examination);
    await run.hooks?.examine(examination, places);
    await more?.({ find, quarantine: (path, reason) => quarantine(run, path, reason) });
  } catch (error) {
    throw translate(error, "examining the run");
  }
  return { findings, checked: examination.checked };
}
