import type * as z from "zod/mini";
import { wardenPause } from "../../ops/warden/care.ts";
import type { Command } from "../command.ts";
import { plain } from "../term.ts";

export const command: Command = {
  op: wardenPause,
  placeholders: { state: "DIR" },
  examples: [['viv warden pause --why "the network is down"', "until: viv warden resume"]],
  human: ({ paused }: z.output<typeof wardenPause.output>) =>
    `the pool is paused since ${paused?.since} by ${plain(paused?.by ?? "")}: ${plain(paused?.why ?? "")}`,
};
