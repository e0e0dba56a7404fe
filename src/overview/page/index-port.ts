import { definePort } from "../../operation/operation.ts";
import type { RunIndex } from "./run-index.ts";

/** The index of the run that an operation is about: a server has one that follows the run. */
export const runIndexPort = definePort<RunIndex>("run index");
