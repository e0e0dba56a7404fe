import { useEffect } from "preact/hooks";
import { apiPath } from "../../live/api.ts";
import type { BoardAnswer } from "../../live/data-shapes.ts";
import { useResource } from "../../live/resource.ts";
import { Empty } from "../../parts/empty.tsx";
import { count, counted } from "../../parts/format.ts";
import { Glyph, type Tone } from "../../parts/glyph.tsx";
import { Failure } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { copy } from "../../shell/act.ts";
import { param } from "../../shell/router.ts";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { FilterField } from "../filter-field.tsx";
import { useRowKeys } from "../row-keys.ts";
import "./git-board.css";

/** A commit makes no event here. */
const LOOK_MS = 10_000;

const LESSONS = [
  { title: "Make a board and commit it", command: "viv board init" },
  { title: "Put a task on it", command: "viv board open Write the release notes" },
  { title: "An agent takes the next one", command: "viv board next --agent moss" },
];

/** The crew's board in git: a column per state, a card per heading. */
export default function GitBoard() {
  const { data, error, refresh } = useResource<BoardAnswer>(apiPath("board ls"), {
    refreshOn: ["ledger"],
    every: 2_000,
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) refresh();
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  useRowKeys(".slip", "card", "button", "Copy the command of");
  const words = param("filter").toLowerCase().split(/\s+/).filter(Boolean);
  const isMissing = error !== null && data === null && error.status !== 0;
  const shown = (data?.tasks ?? []).filter(({ slug, title, agent, state }) => {
    const text = `${slug} ${title} ${agent ?? ""} ${state}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <>
      <TopBar
        title="Git board"
        sub={data ? `${counted(data.tasks.length, "task")}, ${data.board}` : ""}
      />
      <Main className="git-board">
        {isMissing ? (
          <Empty title="There is no board here yet" lessons={LESSONS}>
            A board is one org file in git. Each claim and each move is a commit, so that agents on
            many machines share it.
            <br />
            <bdi class="t3">{plain(error.message)}</bdi>
          </Empty>
        ) : (
          <>
            <search class="filters">
              <FilterField placeholder="Filter: a word, an agent" label="Filter the board" />
            </search>
            {error && <Failure error={error} retry={refresh} />}
            {data && (
              <div class="git-cols" tabIndex={0} role="region" aria-label="Columns of the board">
                {data.states.map((state, at) => (
                  <BoardColumn
                    key={state}
                    state={state}
                    tone={toneOf(at, data)}
                    tasks={shown.filter((task) => task.state === state)}
                  />
                ))}
              </div>
            )}
          </>
        )}
      </Main>
    </>
  );
}

/** Final states whose tasks came to nothing. */
const GIVEN_UP = /KILL|CANCEL|DROP|REJECT|FAIL|ABORT|WONT/i;

/** The first waits to be taken, the final ones are done; what is between is at work. */
function toneOf(at: number, { states, final }: BoardAnswer): Tone {
  const state = states[at] ?? "";
  if (final.includes(state)) return GIVEN_UP.test(state) ? "none" : "done";
  return at === 0 ? "ready" : "working";
}

function BoardColumn({
  state,
  tone,
  tasks,
}: {
  state: string;
  tone: Tone;
  tasks: BoardAnswer["tasks"];
}) {
  return (
    <section class="git-col" aria-label={`${state}, ${tasks.length}`}>
      <header>
        <Glyph tone={tone} />
        <h2 class="cut">{plain(state)}</h2>
        <span class="n">{count(tasks.length)}</span>
      </header>
      <ul>
        {tasks.length === 0 && <li class="t3 sm none">none</li>}
        {tasks.map(({ slug, title, agent, line }) => (
          <li key={`${slug} ${line}`} class="slip">
            <div class="row">
              <button
                type="button"
                class="id cut"
                title={`Copy: viv board show ${slug}`}
                onClick={() => void copy(`viv board show ${slug}`)}
              >
                <bdi>{plain(slug)}</bdi>
              </button>
              <span class="grow" />
              {agent && <bdi class="tag">{plain(agent)}</bdi>}
            </div>
            <p class="words">
              <bdi>{plain(title)}</bdi>
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
