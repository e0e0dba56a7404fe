import type * as z from "zod/mini";
import type { boardLs } from "../../../src/board/operations.ts";
import type { crewPs } from "../../../src/crew/operations.ts";
import type { PsOutput } from "../../../src/fleet/fleet-operations.ts";
import type { GateOutput } from "../../../src/gate/operations.ts";
import type { fleet } from "../../../src/overview/page/fleet.ts";
import type { money } from "../../../src/overview/page/money.ts";
import type { graph } from "../../../src/overview/page/neighbours.ts";
import type { timeline } from "../../../src/overview/page/timeline.ts";
import type { PoolStatus } from "../../../src/warden/operations/dogs.ts";
import type { wardenReceipts } from "../../../src/warden/operations/receipts.ts";
import type { warrantScreen } from "../../../src/warden/operations/screen.ts";
import type { WardenStatus } from "../../../src/warden/operations/warden.ts";
import type { WarrantQueue } from "../../../src/warden/operations/warrants.ts";

/** What operations answer, from their own schemas. */
type Answer<Op extends { output: z.ZodMiniType }> = z.output<Op["output"]>;

export type CrewAnswer = Answer<typeof crewPs>;
export type CrewMember = CrewAnswer["members"][number] & {
  engine: string | null;
  recent: string[];
};
export interface ScheduleList {
  running: boolean;
  schedules: {
    name: string;
    cron: string;
    timezone: string;
    tasks: string;
    state: "on" | "paused" | "disabled";
    next: string[];
    last: { fire: string; tasks: number } | null;
    note: string;
  }[];
}

export type FleetWorker = Answer<typeof fleet>["workers"][number] & {
  /** Undefined: this server's workers cannot be paused one by one. */
  paused?: { by: string; at: string; note?: string | null } | null;
};
export interface Fleet {
  workers: FleetWorker[];
  crew: (Omit<CrewAnswer, "members"> & { members: CrewMember[] }) | null;
  gate: GateOutput | null;
  parts: PsOutput | null;
  schedules: ScheduleList | null;
}

export type Graph = Answer<typeof graph>;
export type Money = Answer<typeof money>;
export type TimelineAnswer = Answer<typeof timeline>;
export type BoardAnswer = Answer<typeof boardLs>;
export type Receipts = Answer<typeof wardenReceipts>;
export type Screen = Answer<typeof warrantScreen>;
export type { PoolStatus, WardenStatus, WarrantQueue };
