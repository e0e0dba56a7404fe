import { formatDuration } from "../../base/duration.ts";
import { counted } from "../../base/text.ts";
import { byDefault, type Command } from "../../operation/command.ts";
import { plain, prose, type Term, table } from "../../operation/term.ts";
import { localTime } from "./cron.ts";
import {
  type ScheduleList,
  scheduleLs,
  schedulePause,
  scheduleResume,
  scheduleRun,
} from "./operations.ts";

type Shown = ScheduleList["schedules"][number];

function rowOf(one: Shown, now: number, { color }: Term) {
  const [next] = one.next;
  const time = (iso: string) => localTime(Date.parse(iso), one.timezone);
  const due = next === undefined ? "" : `in ${formatDuration(Date.parse(next) - now)}`;
  const last =
    one.last === null ? "" : `last ${time(one.last.fire)}, ${counted(one.last.tasks, "task")}`;
  const state = one.state === "on" ? color.green(one.state) : color.yellow(one.state);
  return [
    plain(one.name),
    state,
    plain(one.cron),
    next === undefined ? "" : `${time(next)} ${one.timezone}`,
    due,
    plain(one.tasks),
    prose([last, one.note === "" ? "" : color.red(plain(one.note))].filter(Boolean).join("; ")),
  ];
}

export const commands = {
  "schedule ls": {
    op: scheduleLs,
    examples: [["viv schedule ls", "next fires in the schedule's zone"]],
    human: ({ schedules, running }: ScheduleList, term, io) => {
      const { color } = term;
      if (schedules.length === 0) {
        const example = '[[schedule]]\nname = "nightly"\ncron = "0 7 * * *"\ntype = "audit"';
        return `no schedule; write one into viv.toml:\n\n${color.cyan(example)}`;
      }
      const rows = schedules.map((one) => rowOf(one, io.now(), term));
      const idle = color.yellow("no viv up runs here, so nothing fires; start it: viv up");
      return [table(rows, term), ...(running ? [] : [idle])].join("\n");
    },
  },
  "schedule run": {
    op: scheduleRun,
    positionals: [{ key: "name" }],
    examples: [["viv schedule run nightly", "its tasks now, with ids of their own"]],
    human: ({ tasks }: { tasks: string[] }, { color }) =>
      tasks.map((id) => `${color.green("enqueued")} ${plain(id)}`).join("\n"),
  },
  "schedule pause": {
    op: schedulePause,
    defaults: byDefault,
    positionals: [{ key: "name" }],
    examples: [["viv schedule pause nightly", "kept over restarts"]],
    human: decided,
  },
  "schedule resume": {
    op: scheduleResume,
    positionals: [{ key: "name" }],
    examples: [["viv schedule resume nightly", "fires again, from now on"]],
    human: decided,
  },
} satisfies Record<string, Command>;

function decided({ name, state }: { name: string; state: string }, { color }: Term): string {
  return `${plain(name)} is ${color.yellow(state)}`;
}
