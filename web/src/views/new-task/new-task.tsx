import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
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
  const [isBusy, setBusy] = useState(false);
  const spec = specOf(form);
  const command = commandOf("enqueue", spec.input, []);
  const submit = async () => {
    setWrong(spec.wrong);
    setError("");
    if (Object.keys(spec.wrong).length > 0 || isBusy) return;
    setBusy(true);
    const made = await act<{ id: string }>("enqueue", spec.input, {
      command,
      said: ({ id }) => ({
        text: `${id} is enqueued.`,
        action: { label: "Open", run: () => showTask(id) },
      }),
      onRefused(refused) {
        const field = fieldOf(refused.code, refused.message, form);
        if (field === null) setError(refusalText(refused));
        else setWrong({ [field]: refused.message });
      },
    });
    setBusy(false);
    if (made === null) return;
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
      {...{ title: "New task", command, yes: "Enqueue", wrong, error, onClose }}
      onSubmit={() => void submit()}
    >
      <Labelled label="What is to be done (or a payload in JSON)" error={wrong.what}>
        <textarea {...bound("what")} />
      </Labelled>
      <div class="pair">
        <Labelled label="Type" error={wrong.type}>
          <input list="task-types" required placeholder={first} {...CODE} {...bound("type")} />
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
