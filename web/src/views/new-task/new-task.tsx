import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { newTaskId } from "../../../../src/base/id.ts";
import { apiPath } from "../../live/api.ts";
import { useResource } from "../../live/resource.ts";
import type { Cards } from "../../live/shapes.ts";
import { act, commandOf } from "../../shell/act.ts";
import { CODE, FormDialog, Labelled, refusalText } from "../../shell/form-dialog.tsx";
import { showTask } from "../../shell/router.ts";
import { EMPTY_FORM, fieldOf, specOf, type TaskForm, type Wrong } from "./task-form.ts";

interface Settings {
  settings: { key: string }[];
}

/** What was typed outlives the dialog, until it has become a task. */
const draft = signal(EMPTY_FORM);

/**
 * The id that the draft was sent with, and what was sent first. The answer may have been lost on the
 * way: the next press sends the same id, and makes no second task.
 */
const sent = signal<{ id: string; first: string } | null>(null);

interface Made {
  id: string;
  /** False: it was there. */
  created: boolean;
}

const chance = () => (crypto.getRandomValues(new Uint32Array(1))[0] as number) / 2 ** 32;
const madeId = () => newTaskId(Date.now(), chance);

/** Enqueues a task. */
export default function NewTask({ onClose }: { onClose: () => void }) {
  const routes = useResource<Settings>(apiPath("config show", { key: "handlers" }));
  const cards = useResource<Cards>(apiPath("cards"));
  const types = typesOf(routes.data, cards.data);
  const [first, ...others] = types;
  useEffect(() => {
    // Where there is no choice.
    if (first !== undefined && others.length === 0 && draft.value.type === "") {
      draft.value = { ...draft.value, type: first };
    }
  }, [types.length]);
  const form = draft.value;
  const [wrong, setWrong] = useState<Wrong>({});
  const [error, setError] = useState("");
  // Not a state: two presses may come before the next render.
  const isBusy = useRef(false);
  const spec = specOf(form, sent.value?.id);
  const submit = async () => {
    setWrong(spec.wrong);
    setError("");
    if (Object.keys(spec.wrong).length > 0 || isBusy.current) return;
    isBusy.current = true;
    const before = sent.value;
    const { id, first } = before ?? { id: madeId(), first: JSON.stringify(form) };
    sent.value = { id, first };
    const { input } = specOf(form, id);
    const isChanged = first !== JSON.stringify(form);
    const made = await act<Made>("enqueue", input, {
      command: commandOf("enqueue", input, []),
      said: ({ id, created }) => ({
        text: `${id} is enqueued${created || !isChanged ? "" : " already"}.`,
        action: { label: "Open", run: () => showTask(id) },
      }),
      onRefused(refused) {
        // This press made nothing; of one before it that is not known.
        if (refused.status >= 400 && refused.status < 500) sent.value = before;
        const field = fieldOf(refused.code, refused.message, form);
        if (field === null) setError(refusalText(refused));
        else setWrong({ [field]: refused.message });
      },
    }).finally(() => {
      isBusy.current = false;
    });
    if (made === null) return;
    sent.value = null;
    if (!made.created && isChanged) {
      setError(
        `${made.id} is enqueued already, as an earlier press sent it. Press again to make another task of this.`,
      );
      return;
    }
    draft.value = EMPTY_FORM;
    onClose();
  };
  const bound = (key: Exclude<keyof TaskForm, "review">) => ({
    value: form[key],
    onInput: (event: Event) => {
      const { value } = event.currentTarget as HTMLInputElement;
      draft.value = { ...draft.value, [key]: value };
    },
  });
  return (
    <FormDialog
      {...{ title: "New task", yes: "Enqueue", wrong, error, onClose }}
      command={commandOf("enqueue", spec.input, [])}
      onSubmit={() => void submit()}
    >
      <Labelled label="What is to be done (or a payload in JSON)" error={wrong.what}>
        <textarea {...bound("what")} />
      </Labelled>
      <div class="pair">
        <Labelled label="Type" error={wrong.type}>
          <input
            list="task-types"
            required
            placeholder={first && `like ${first}`}
            {...CODE}
            {...bound("type")}
          />
        </Labelled>
        <Labelled label="Id (or made for it)" error={wrong.id}>
          <input {...CODE} {...bound("id")} />
        </Labelled>
        <Labelled label="After (ids of tasks)" error={wrong.depends_on}>
          <input {...CODE} {...bound("depends_on")} />
        </Labelled>
        <Labelled label="Priority" error={wrong.priority}>
          <select {...bound("priority")}>
            {["high", "normal", "low"].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </Labelled>
      </div>
      <Labelled label="Done when this command succeeds" error={wrong.done_when}>
        <input {...CODE} class="mono" placeholder="npm test" {...bound("done_when")} />
      </Labelled>
      <label class="row">
        <input
          type="checkbox"
          checked={form.review}
          onChange={(event) => {
            draft.value = { ...form, review: event.currentTarget.checked };
          }}
        />
        A person approves the result
      </label>
      <datalist id="task-types">
        {types.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </FormDialog>
  );
}

/** Those with a route first, then those of tasks that are there. */
function typesOf(routes: Settings | null, cards: Cards | null): string[] {
  const routed = (routes?.settings ?? []).flatMap(
    ({ key }) => /^handlers\.(.+)\.engine$/.exec(key)?.[1] ?? [],
  );
  const known = cards?.types.map(({ type }) => type) ?? [];
  return [...new Set([...routed, ...known])].filter((type) => type !== "default");
}
