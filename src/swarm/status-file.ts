import { readFileSync } from "node:fs";
import { join } from "node:path";
import { JsonNumber, type JsonTree, readJson, repr } from "./python.ts";

/**
 * status.json as it lies on disk. Read without opening the run: swarm-lib's own status-init creates
 * a folder with nothing but this file, and reading it must not create the rest.
 */
export interface StatusFile {
  schemaVersion: string;
  runId: JsonTree;
  checkpoint: ReadonlyMap<string, JsonTree>;
  metadata: ReadonlyMap<string, JsonTree>;
}

/** There is a status.json, but not one that can be read. */
export class UnreadableStatus extends Error {}

/** Null when there is none. */
export function readStatusFile(runDir: string): StatusFile | null {
  const path = join(runDir, "status.json");
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
  const raw = parse(text, path);
  const version = raw.get("schema_version") ?? "0.0";
  const schemaVersion = version instanceof JsonNumber ? version.text : String(version);
  if (!schemaVersion.startsWith("0.")) {
    throw new UnreadableStatus(
      `Unknown schema_version ${repr(schemaVersion)} in ${path}; swarm-cli reads 0.x`,
    );
  }
  return {
    schemaVersion,
    runId: raw.get("run_id") ?? runDir.slice(runDir.lastIndexOf("/") + 1),
    checkpoint: mapOf(raw.get("checkpoint")),
    metadata: mapOf(raw.get("metadata")),
  };
}

function parse(text: string, path: string): Map<string, JsonTree> {
  let raw: JsonTree;
  try {
    raw = readJson(text);
  } catch (cause) {
    throw new UnreadableStatus(`${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
  if (!(raw instanceof Map)) throw new UnreadableStatus(`${path} is not a JSON object`);
  return raw;
}

function mapOf(value: JsonTree | undefined): ReadonlyMap<string, JsonTree> {
  return value instanceof Map ? value : new Map();
}
