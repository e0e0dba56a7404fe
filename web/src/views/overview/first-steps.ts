import type { Lesson } from "../../parts/empty.tsx";

/** For a run that has no task yet. */
export const FIRST_STEPS: readonly Lesson[] = [
  { title: "Say which agent or program does the work: viv.toml", command: "viv init" },
  { title: "Start the fleet", command: "viv up" },
  {
    title: "Give it a task, and say what proves that it is done",
    command: `viv enqueue --type task --payload '{"goal":"Add a README"}' --done-when "test -s README.md"`,
  },
];
