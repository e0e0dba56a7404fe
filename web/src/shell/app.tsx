import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { connection } from "../live/events.ts";
import { Empty } from "../parts/empty.tsx";
import { TaskDrawer } from "../views/task/task-drawer.tsx";
import { Questions } from "./ask.tsx";
import { Help, openHelp } from "./help.tsx";
import { useKeys } from "./keys.tsx";
import { MomentCaption } from "./moment-caption.tsx";
import { NewTaskDialog, openNewTask } from "./new-task.tsx";
import { Palette } from "./palette.tsx";
import { go, openTask, routeHref, view } from "./router.ts";
import { RunsMenu } from "./runs-menu.tsx";
import { Sidebar, Tabs } from "./sidebar.tsx";
import { nextTheme } from "./theme.ts";
import { Toasts } from "./toasts.tsx";
import { Main, TopBar } from "./top-bar.tsx";
import { VIEWS, type View, viewNamed } from "./views.ts";

export function App() {
  useKeys([
    ...VIEWS.filter(({ key }) => key !== undefined).map(({ name, label, key = "" }) => ({
      ...{ keys: [key], label, run: () => go(routeHref(name)) },
    })),
    { keys: ["n"], label: "New task", run: openNewTask },
    { keys: ["t"], label: "Change the theme", run: nextTheme },
    { keys: ["?"], label: "List the keys", run: openHelp },
  ]);
  const isInDrawer = openTask.value !== null && view.value !== "task";
  const classes = ["app"];
  if (connection.value.state === "lost") classes.push("is-lost");
  if (isInDrawer) classes.push("has-drawer");
  if (view.value === "task") classes.push("is-task");
  return (
    <div class={classes.join(" ")}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <Sidebar />
      <div class="page" inert={isInDrawer && isNarrow.value}>
        <CurrentView />
        <MomentCaption />
      </div>
      <Tabs />
      {isInDrawer && <TaskDrawer />}
      <Palette />
      <NewTaskDialog />
      <RunsMenu />
      <Help />
      <Questions />
      <Toasts />
    </div>
  );
}

/** Where the drawer covers its view, the view cannot be reached. */
const narrow = matchMedia("(max-width: 1180px)");
const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => {
  isNarrow.value = narrow.matches;
});

const loaded = new Map<string, NonNullable<View["component"]>>();

function CurrentView() {
  const name = view.value;
  const found = viewNamed(name);
  const [, draw] = useState(0);
  const [isMissing, setMissing] = useState(false);
  const isLost = connection.value.state === "lost";
  const component = found?.component ?? loaded.get(name);
  useEffect(() => {
    if (component !== undefined || found?.load === undefined) return;
    setMissing(false);
    found.load().then(
      (module) => {
        loaded.set(name, module.default);
        draw((n) => n + 1);
      },
      () => setMissing(true),
    );
  }, [name, isLost]); // Again when the connection is back.
  if (found === undefined) {
    return (
      <>
        <TopBar title="Not found" />
        <Main>
          <Empty title="There is no such view">
            <a class="link" href={routeHref("overview")}>
              Go to the overview
            </a>
          </Empty>
        </Main>
      </>
    );
  }
  if (component === undefined) {
    return (
      <>
        <TopBar title={found.label} />
        <Main>
          {isMissing && (
            <Empty
              title={`This part of the page ${isLost ? "comes when the connection is back" : "could not be loaded: reload the page"}`}
            />
          )}
        </Main>
      </>
    );
  }
  const Component = component;
  return <Component key={name} />;
}
