import { columnOf, Glyph } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useKeys } from "../../shell/keys.tsx";
import { go, openTask, routeHref } from "../../shell/router.ts";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { Actions } from "./actions.tsx";
import { TaskBody } from "./task-body.tsx";
import { useTask } from "./use-task.ts";

export function TaskPage() {
  const id = openTask.value ?? "";
  const data = useTask(id);
  const toBoard = () => go(routeHref("board", { task: id }));
  useKeys([{ keys: ["f", "Escape"], label: "Back to the board", run: toBoard }]);
  return (
    <>
      <TopBar title={id} sub={<Glyph tone={columnOf(data.show.data?.state)} />}>
        <button
          type="button"
          class="btn quiet icon"
          aria-label="Back to the board"
          title="Back to the board (F)"
          onClick={toBoard}
        >
          <Icon name="collapse" size={14} />
        </button>
      </TopBar>
      <Main className="task-page">
        <TaskBody key={id} id={id} data={data} />
      </Main>
      {data.show.data && <Actions key={`${id} ${data.show.data.state}`} task={data.show.data} />}
    </>
  );
}
