import { canonicalJson } from "../../base/json.ts";
import { parseTask } from "../task.ts";
import { type Layout, type LayoutOffer, withoutSuffix } from "./layout.ts";

/** swarm-lib's: JSON, a folder for each state and for each worker. */
export const RUN_LAYOUT: Layout = {
  kind: "run",
  folders: {
    waiting: "waiting",
    pending: "pending",
    claimed: "claimed",
    review: "review",
    done: "done",
    failed: "failed",
  },
  record: "",
  others: [],
  derived: [],
  suffix: ".json",
  isFlat: false,
  reservedTypes: [],
  staleAfterSeconds: 300,
  idOf: (_, name) => withoutSuffix(name, ".json"),
  isBeside: () => false,
  splitClaim: () => null,
  whyNotId: () => null,
  whyNotWorker: () => null,
  parse: parseTask,
  write: canonicalJson,
};

export const RUN_OFFER: LayoutOffer = {
  kind: RUN_LAYOUT.kind,
  howToMake: (path) => `create it with: viv enqueue --run ${path} --type TYPE`,
  signs: ["pending"],
  load: async () => RUN_LAYOUT,
};
