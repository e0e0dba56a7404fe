import { VivError } from "../../base/errors.ts";
import type { Layout } from "../../queue/fs/layout.ts";
import { foodOf, parseFood } from "../food.ts";
import {
  idOfDone,
  idOfFood,
  resultIdOf,
  splitClaimName,
  unprovenNumberOf,
  whyNotFoodId,
  whyNotSnake,
} from "../food-names.ts";

import { PIT_HOOKS } from "./hooks.ts";
import { pitExtensions } from "./store.ts";

/** The snake pit's: Markdown, and all claims in one folder, the snake's name before the food's. */
export const PIT_LAYOUT: Layout = {
  kind: "pit",
  folders: {
    waiting: "resting/later",
    pending: "food",
    claimed: "claimed",
    review: "resting/review",
    done: "done",
    failed: "resting/stuck",
  },
  record: "record",
  others: ["scraps", "waste"],
  derived: ["heartbeats", "numbers", "parts", "hand", "told"],
  suffix: ".md",
  isFlat: true,
  maxAttempts: 20,
  reservedTypes: ["keeper", "planner"],
  staleAfterSeconds: 1800,
  idOf: (state, name) => (state === "done" ? idOfDone(name) : idOfFood(name)),
  isBeside: (state, name) =>
    /^readme\.md$/i.test(name) ||
    (state === "done" && (resultIdOf(name) !== null || unprovenNumberOf(name) !== null)),
  splitClaim: splitClaimName,
  whyNotId: whyNotFoodId,
  whyNotWorker: whyNotSnake,
  parse: (text, id, context) => {
    if (text.includes("\0")) throw new VivError("CORRUPT", "not a text: no food");
    return parseFood(text, id, context);
  },
  write: foodOf,
  hooks: PIT_HOOKS,
  extensions: (run) => pitExtensions(run),
};
