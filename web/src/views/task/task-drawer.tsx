import { useEffect, useRef } from "preact/hooks";
import { columnOf, Glyph } from "../../parts/glyph.tsx";
import { Icon, type IconName } from "../../parts/icons.tsx";
import { useKeys } from "../../shell/keys.tsx";
import { closeTask, go, openTask, routeHref } from "../../shell/router.ts";
import { Actions } from "./actions.tsx";
import { siblings } from "./siblings.ts";
import { TaskBody } from "./task-body.tsx";
import { useTask } from "./use-task.ts";

/** The open task beside its view. On a desk the view behind it goes on; on a phone it is the screen. */
export function TaskDrawer() {
  const id = openTask.value ?? "";
  const data = useTask(id);
  const box = useRef<HTMLElement>(null);
  const before = useRef<Element | null>(null);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    before.current = document.activeElement;
    if (matchMedia("(max-width: 1180px)").matches) box.current?.focus();
    return () => {
      // Only where nothing else has taken it meanwhile.
      if (before.current instanceof HTMLElement && document.activeElement === document.body)
        before.current.focus();
    };
  }, []);
  useEffect(() => {
    body.current?.scrollTo({ top: 0 });
  }, [id]);
  const whole = () => go(routeHref("task", {}, id));
  useKeys([
    { keys: ["Escape"], label: "Close the task", run: closeTask },
    { keys: ["f"], label: "Task as a whole page", run: whole },
    { keys: ["o"], label: "Into the task", run: () => box.current?.focus() },
  ]);
  const tone = columnOf(data.show.data?.state);
  return (
    <aside class="drawer" ref={box} tabIndex={-1} aria-label={`Task ${id}`}>
      <header>
        <Glyph tone={tone} />
        <span class="id cut">{id}</span>
        <span class="grow" />
        {siblings.value && (
          <>
            <HeadButton
              icon="previous"
              label="The one before (K)"
              onClick={siblings.value.previous}
            />
            <HeadButton icon="next" label="The next one (J)" onClick={siblings.value.next} />
          </>
        )}
        <span class="desk">
          <HeadButton icon="expand" label="Whole page (F)" onClick={whole} />
        </span>
        <HeadButton icon="close" label="Close (Esc)" onClick={closeTask} />
      </header>
      <div class="drawer-body" ref={body}>
        <TaskBody key={id} id={id} data={data} />
      </div>
      {data.show.data && <Actions key={`${id} ${data.show.data.state}`} task={data.show.data} />}
    </aside>
  );
}

function HeadButton({
  icon,
  label,
  onClick,
}: {
  icon: IconName;
  label: string;
  onClick: () => void;
}) {
  return (
    <button type="button" class="btn quiet icon" aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} size={14} />
    </button>
  );
}
