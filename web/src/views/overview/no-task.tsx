import { apiPath } from "../../live/api.ts";
import type { Fleet } from "../../live/data-shapes.ts";
import { useResource } from "../../live/resource.ts";
import { Empty } from "../../parts/empty.tsx";

const START = [
  { title: "Say which agent or program does the work: viv.toml", command: "viv init" },
  { title: "Start the fleet", command: "viv up" },
];

/** For a run that has no task yet: what is still to be done, and a task that a worker here takes. */
export function NoTask({
  title = "Nothing lives here yet",
  text,
}: {
  title?: string;
  text: string;
}) {
  const { data } = useResource<Fleet>(apiPath("fleet"), { refreshOn: ["worker_started"] });
  if (data === null) return null;
  const worker = data.workers.find(({ alive }) => alive);
  const type = worker?.types?.[0] ?? "task";
  const task = {
    title: "Give it a task, and say what proves that it is done",
    command: `viv enqueue --type ${type} --payload '{"goal":"Add a README"}' --done-when "test -s README.md"`,
  };
  return (
    <Empty title={title} lessons={worker || data.parts?.running ? [task] : [...START, task]}>
      {text}
    </Empty>
  );
}
