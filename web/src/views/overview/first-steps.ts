import type { Lesson } from "../../parts/empty.tsx";

/** For a run that has no task yet. */
export const FIRST_STEPS: readonly Lesson[] = [
  {
    title: "Give it something to do, and say what proves it",
    command: 'viv enqueue --type hello --done-when "grep hello hello.txt"',
  },
  {
    title: "Say which program does it: a route in viv.toml",
    command: "viv init --template fleet",
  },
  { title: "Start the fleet", command: "viv up" },
];
