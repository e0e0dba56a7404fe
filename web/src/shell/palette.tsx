import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { apiPath } from "../live/api.ts";
import { useResource } from "../live/resource.ts";
import type { Card, Cards } from "../live/shapes.ts";
import { COLUMNS, Glyph } from "../parts/glyph.tsx";
import { Icon, type IconName } from "../parts/icons.tsx";
import { act } from "./act.ts";
import { Dialog } from "./dialog.tsx";
import { openHelp } from "./help.tsx";
import { openNewTask } from "./new-task.tsx";
import { go, routeHref, showTask } from "./router.ts";
import { openRuns } from "./runs-menu.tsx";
import { nextTheme } from "./theme.ts";
import { VIEWS } from "./views.ts";

/** ⌘K: views, tasks by id or title, actions. */

interface Choice {
  key: string;
  label: string;
  hint?: string;
  icon?: IconName;
  card?: Card;
  run: () => void;
}

const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

export function listenForPalette(): void {
  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    isOpen.value = !isOpen.value;
  });
}

/** What can be done from anywhere; a view adds its own to them. */
const ACTIONS: Choice[] = [
  { key: "a-new", label: "New task", hint: "N", icon: "plus", run: openNewTask },
  {
    ...{ key: "a-pause", label: "Pause the run", hint: "viv pause", icon: "pause" },
    run: () => void act("pause", {}, { said: "The run is paused." }),
  },
  {
    ...{ key: "a-resume", label: "Resume the run", hint: "viv resume", icon: "play" },
    run: () => void act("resume", {}, { said: "The run goes on." }),
  },
  {
    ...{ key: "a-merge", label: "Merge all done work", hint: "viv merge --all", icon: "merge" },
    run: () => void act("merge", { all: true }, { said: "The merge queue has run." }),
  },
  { key: "a-runs", label: "Other runs", hint: "viv runs", icon: "git", run: openRuns },
  { key: "a-theme", label: "Change the theme", hint: "T", icon: "sun", run: nextTheme },
  { key: "a-help", label: "List the keys", hint: "?", icon: "more", run: openHelp },
];

const MOST_TASKS = 8;

export function Palette() {
  return isOpen.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const asked = useLater(words.trim(), 120);
  const windows = COLUMNS.map((column) => `${column}:0:${MOST_TASKS}`).join(",");
  const path = asked === "" ? null : apiPath("cards", { filter: asked, windows });
  const { data, error } = useResource<Cards>(path);
  const list = useRef<HTMLUListElement>(null);
  // While another answer is on its way, the last one stays, as far as it fits the words.
  const last = useRef<Cards | null>(null);
  last.current = data ?? last.current;
  const isFresh = data !== null && asked === words.trim();
  const isPending = words.trim() !== "" && !isFresh && error === null;
  const found = last.current;
  const choices = useMemo(() => choicesFor(words, found, isFresh), [words, found, isFresh]);
  const [isWaiting, setWaiting] = useState(false);
  const chosen = Math.min(at, choices.length - 1);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const close = () => {
    isOpen.value = false;
  };
  const take = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    choice.run();
  };
  useEffect(() => {
    // Enter was pressed before the answer was there.
    if (isWaiting && !isPending) take(choices[0]);
    if (!isPending) setWaiting(false);
  }, [isWaiting, isPending]);
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setAt((chosen + step + choices.length) % Math.max(1, choices.length));
    else if (event.key === "Enter" && choices.length === 0 && isPending) setWaiting(true);
    else if (event.key === "Enter") take(choices[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label="Find" className="palette" onClose={close}>
      <label class="field">
        <Icon name="search" size={14} />
        <input
          autoFocus
          role="combobox"
          aria-label="Find a view, task or action"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={choices[chosen] ? `palette-${chosen}` : undefined}
          placeholder="Find a view, task or action"
          value={words}
          onInput={(event) => {
            setWords(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
        <kbd>Esc</kbd>
      </label>
      <ul id="palette-list" ref={list} role="listbox" aria-label="Found">
        {choices.map((choice, index) => (
          <li
            key={choice.key}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => take(choice)}
            onPointerMove={() => setAt(index)}
          >
            <span class="kind">
              {choice.card ? (
                <Glyph tone={choice.card.column} />
              ) : (
                <Icon name={choice.icon ?? "arrow"} />
              )}
            </span>
            {choice.card && <span class="id">{choice.card.id}</span>}
            <bdi class="cut grow">{choice.label}</bdi>
            {choice.hint && <span class="sm t3">{choice.hint}</span>}
          </li>
        ))}
      </ul>
      {choices.length === 0 && !isPending && <p class="pad t3">Nothing has these words.</p>}
    </Dialog>
  );
}

function choicesFor(words: string, found: Cards | null, isFresh: boolean): Choice[] {
  const wanted = words.trim().toLowerCase();
  const views = VIEWS.map(({ name, label, icon, key }) => ({
    ...{ key: `v-${name}`, label, hint: key, icon },
    run: () => go(routeHref(name)),
  }));
  const named = [...views, ...ACTIONS].filter(
    ({ label, hint }) =>
      label.toLowerCase().includes(wanted) || (wanted !== "" && hint?.includes(wanted)),
  );
  const all = wanted === "" ? [] : (found?.windows.flatMap(({ cards }) => cards) ?? []);
  const fits = ({ id, title }: Card) => `${id} ${title}`.toLowerCase().includes(wanted);
  const cards = isFresh ? all : all.filter(fits);
  // An id that begins with the words is what was meant.
  const rank = ({ id }: Card) => (id === wanted ? 0 : id.startsWith(wanted) ? 1 : 2);
  const tasks = cards
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, MOST_TASKS)
    .map((card) => ({
      ...{ key: `t-${card.id}`, label: card.title ?? "", hint: card.column, card },
      run: () => showTask(card.id),
    }));
  return [...named, ...tasks];
}

function useLater<T>(value: T, ms: number): T {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return late;
}
