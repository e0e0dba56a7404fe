/** `status.json`, swarm-lib's schema 0.1. Unknown keys are kept when it is rewritten. */
export const SCHEMA_VERSION = "0.1";

export interface Checkpoint {
  summary: string;
  next_step: string;
  next_task_id: string | null;
  risk: string;
  completed_tasks: string[];
  current_worker: string | null;
  timestamp: string;
  resume_command: string | null;
  [key: string]: unknown;
}

export interface RunStatus {
  schema_version: string;
  run_id: string;
  checkpoint: Checkpoint;
  metadata: Record<string, unknown>;
  [key: string]: unknown;
}

export interface CheckpointUpdate {
  summary?: string;
  next_step?: string;
  next_task_id?: string | null;
  risk?: string;
  current_worker?: string | null;
  resume_command?: string | null;
  metadata?: Record<string, unknown>;
}
