import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { wardenPause } from "../operations/care.ts";

export const command: Command = {
  op: wardenPause,
  placeholders: { state: "DIR" },
  examples: [['viv warden pause --why "the network is down"', "until: viv warden resume"]],
  human: ({ paused }: z.output<typeof wardenPause.output>) =>
    `the pool is paused since ${paused?.since} by ${plain(paused?.by ?? "")}: ${plain(paused?.why ?? "")}`,
};
