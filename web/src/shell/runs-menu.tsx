import { signal } from "@preact/signals";
import type { output } from "zod/mini";
import type { runs } from "../../../src/work/operations/runs.ts";
import { apiPath } from "../live/api.ts";
import { useResource } from "../live/resource.ts";
import { namesOf, session } from "../live/session.ts";
import { CopyButton } from "../parts/command.tsx";
import { counted, shellWord } from "../parts/format.ts";
import { Icon } from "../parts/icons.tsx";
import { plain } from "../parts/plain.ts";
import { Dialog } from "./dialog.tsx";

type Run = output<typeof runs.output>["runs"][number];

const isOpen = signal(false);

export function openRuns(): void {
  isOpen.value = true;
}

/** Not to be served: it has to be brought back first, or is no more. */
const AWAY: readonly Run["state"][] = ["archived", "interrupted", "gone", "unreadable"];

/** The runs of this machine: those with a server are links, the others say how to serve them. */
export function RunsMenu() {
  return isOpen.value ? <OpenRuns /> : null;
}

function OpenRuns() {
  const { data, error } = useResource<output<typeof runs.output>>(apiPath("runs"));
  const close = () => {
    isOpen.value = false;
  };
  return (
    <Dialog label="Runs" onClose={close}>
      <header>
        <h2>Runs</h2>
        <span class="grow" />
        <button type="button" class="btn quiet icon" aria-label="Close" onClick={close}>
          <Icon name="close" size={14} />
        </button>
      </header>
      {data === null && <p class="pad t3">{error?.message ?? "Looking…"}</p>}
      <ul class="list tall">
        {data?.runs
          .filter(({ state }) => state !== "gone")
          .map((run) => (
            <li key={run.path}>
              <RunRow run={run} />
            </li>
          ))}
      </ul>
    </Dialog>
  );
}

function RunRow({ run }: { run: Run }) {
  const { path, state, address, note } = run;
  const { name } = namesOf(path);
  const command = `viv serve --run ${shellWord(path)}`;
  const isHere = path === session.value?.run_dir;
  const about = (
    <span class="grow cut lines-of">
      <bdi class="cut">
        <b>{plain(name)}</b> <span class="t3 sm">{countsOf(run)}</span>
      </bdi>
      <bdi class="cut mono t3">{plain(path)}</bdi>
    </span>
  );
  if (isHere) {
    return (
      <>
        {about}
        <span class="t3 sm">this one</span>
      </>
    );
  }
  if (address !== undefined) {
    return (
      <a class="row grow" href={address}>
        {about}
        <span class="t3 sm">{address.replace(/^https?:\/\//, "")}</span>
        <Icon name="arrow" />
      </a>
    );
  }
  const helps = AWAY.includes(state) ? note : command;
  return (
    <>
      <span class="grow cut lines-of">
        {about}
        <bdi class="cmd">{plain(helps ?? state)}</bdi>
      </span>
      {helps === command && <CopyButton text={command} />}
    </>
  );
}

/** `running, 412 tasks`. */
function countsOf({ state, counts }: Run): string {
  const all = Object.values(counts ?? {}).reduce((sum, n) => sum + n, 0);
  return counts === undefined ? state : `${state}, ${counted(all, "task")}`;
}
