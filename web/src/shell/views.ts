import type { ComponentType } from "preact";
import type { IconName } from "../parts/icons.tsx";
import { Board } from "../views/board/board.tsx";
import { Overview } from "../views/overview/overview.tsx";
import { TaskPage } from "../views/task/task-page.tsx";
import { type NavCount, useBoardCount, useCostCount, useNeedsCount } from "./nav-counts.ts";

/**
 * The views, in their order. What people open first is in the page's first file; the others are
 * files of their own, loaded when they are opened: `load: () => import("../views/NAME.tsx")`, whose
 * default export renders `<TopBar/>` and `<Main/>`.
 */
export interface View {
  name: string;
  label: string;
  icon: IconName;
  /** The digit that opens it. */
  key?: string;
  /** A line is drawn before it. */
  startsGroup?: boolean;
  /** In the bar of a phone; the others are behind More. */
  isOnPhone?: boolean;
  component?: ComponentType;
  load?: () => Promise<{ default: ComponentType }>;
  /** A hook: the figure beside its name. */
  useCount?: () => NavCount | null;
}

export const VIEWS: readonly View[] = [
  {
    ...{ name: "overview", label: "Overview", icon: "overview", key: "1", isOnPhone: true },
    ...{ component: Overview, useCount: useNeedsCount },
  },
  {
    ...{ name: "board", label: "Board", icon: "board", key: "2", isOnPhone: true },
    ...{ component: Board, useCount: useBoardCount },
  },
  {
    ...{ name: "fleet", label: "Fleet", icon: "fleet", key: "3", isOnPhone: true },
    load: () => import("../views/fleet/fleet.tsx"),
  },
  {
    name: "warden",
    label: "Warden",
    icon: "warden",
    key: "4",
    load: () => import("../views/warden/warden.tsx"),
  },
  {
    ...{ name: "wire", label: "Wire", icon: "wire", key: "5", isOnPhone: true },
    ...{ startsGroup: true, load: () => import("../views/wire/wire.tsx") },
  },
  {
    name: "graph",
    label: "Graph",
    icon: "graph",
    key: "6",
    load: () => import("../views/graph/graph.tsx"),
  },
  {
    name: "timeline",
    label: "Timeline",
    icon: "timeline",
    key: "7",
    load: () => import("../views/timeline/timeline.tsx"),
  },
  {
    ...{ name: "money", label: "Money", icon: "money", key: "8", startsGroup: true },
    ...{ load: () => import("../views/money/money.tsx"), useCount: useCostCount },
  },
  {
    name: "git",
    label: "Git board",
    icon: "git",
    key: "9",
    load: () => import("../views/git/git-board.tsx"),
  },
];

/** Not in the list: a task as a whole page. */
const TASK: View = { name: "task", label: "Task", icon: "board", component: TaskPage };

export function viewNamed(name: string): View | undefined {
  return name === "task" ? TASK : VIEWS.find((one) => one.name === name);
}
