import { now } from "../live/clock.ts";
import { connection } from "../live/events.ts";
import { session } from "../live/session.ts";
import { clockSeconds } from "../parts/format.ts";
import { Icon, Mark } from "../parts/icons.tsx";
import { sayLogin } from "./act.ts";
import { openHelp } from "./help.tsx";
import { FIND_KEY } from "./keys.tsx";
import { pointed } from "./moment-caption.tsx";
import { openPalette } from "./palette.tsx";
import { openTask, routeHref, view } from "./router.ts";
import { openRuns } from "./runs-menu.tsx";
import { setTheme, THEMES, theme } from "./theme.ts";
import { VIEWS, type View } from "./views.ts";

const THEME_ICON = { system: "system", light: "sun", dark: "moon" } as const;
const THEME_LABEL = {
  system: "Theme of the system",
  light: "Light theme",
  dark: "Dark theme",
} as const;

export function Sidebar() {
  return (
    <section class="side" aria-label="Vivarium">
      <a class="brand" href={routeHref("overview")} aria-label="Vivarium">
        <Mark />
        <span>Vivarium</span>
      </a>
      <button type="button" class="run" title="viv runs" aria-haspopup="dialog" onClick={openRuns}>
        <span class="row">
          <bdi class="cut grow">
            <b>{session.value?.name ?? "…"}</b>
          </bdi>
          <Icon name="down" size={12} />
        </span>
        <bdi class="cut mono t3" title={session.value?.run_dir}>
          {session.value?.path ?? ""}
        </bdi>
      </button>
      <nav class="nav" aria-label="Views">
        {VIEWS.map((one) => (
          <NavLink key={one.name} view={one} />
        ))}
      </nav>
      <div class="foot">
        <Live />
        <ReadOnly />
        <button type="button" class="flat" onClick={() => openPalette()}>
          Find <kbd>{FIND_KEY}</kbd>
        </button>
        <button type="button" class="flat" onClick={() => openHelp()}>
          Shortcuts <kbd>?</kbd>
        </button>
        <div class="seg" role="group" aria-label="Theme">
          {THEMES.map((one) => (
            <button
              key={one}
              type="button"
              aria-label={THEME_LABEL[one]}
              title={THEME_LABEL[one]}
              aria-pressed={theme.value === one}
              onClick={() => setTheme(one)}
            >
              <Icon name={THEME_ICON[one]} size={14} />
            </button>
          ))}
        </div>
      </div>
    </section>
  );
}

function NavLink({ view: one }: { view: View }) {
  const isCurrent = view.value === one.name || (view.value === "task" && one.name === "board");
  return (
    <>
      {one.startsGroup && <hr />}
      <a
        class={pointed.value.view === one.name && !isCurrent ? "is-pointed" : undefined}
        href={routeHref(one.name)}
        title={one.label}
        aria-current={isCurrent ? "page" : undefined}
      >
        <Icon name={one.icon} />
        <span>{one.label}</span>
        {one.useCount && <NavFigure use={one.useCount} />}
      </a>
    </>
  );
}

/** Apart, so that only the figure is drawn again. */
function NavFigure({ use }: { use: NonNullable<View["useCount"]> }) {
  const figure = use();
  if (figure === null) return null;
  const tone = figure.tone ? ` c s-${figure.tone}` : "";
  return (
    <span class={`count${tone}`} title={figure.label}>
      {figure.text}
    </span>
  );
}

/** Without a login the page only shows. */
function ReadOnly() {
  if (session.value === null || session.value.can_change) return null;
  return (
    <button type="button" class="flat" title="viv token --link" onClick={sayLogin}>
      <Icon name="copy" size={12} />
      Read only: log in
    </button>
  );
}

const STATE_WORD = {
  connecting: "Connecting",
  live: "Live",
  lost: "Not connected",
  resting: "Resting",
} as const;

function Live() {
  const { state } = connection.value;
  return (
    <span class="row">
      <i class={`dot s-${state === "live" ? "done" : state === "lost" ? "review" : "none"}`} />
      {STATE_WORD[state]} <span class="t3">{clockSeconds(now.value)}</span>
    </span>
  );
}

/** The bar of a phone: five places, the last leads to the rest. */
export function Tabs() {
  if (openTask.value !== null) return null;
  return (
    <nav class="tabs" aria-label="Views">
      {VIEWS.filter(({ isOnPhone }) => isOnPhone).map((one) => (
        <a
          key={one.name}
          href={routeHref(one.name)}
          aria-current={view.value === one.name ? "page" : undefined}
        >
          <Icon name={one.icon} />
          {one.label}
          {one.name === "overview" && one.useCount && <NavFigure use={one.useCount} />}
        </a>
      ))}
      <button type="button" onClick={() => openPalette()}>
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}
