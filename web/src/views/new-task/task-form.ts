/** What a person typed for a new task, and the task that it says. */
export interface TaskForm {
  type: string;
  what: string;
  id: string;
  priority: string;
  depends_on: string;
  done_when: string;
  review: boolean;
}

export type Wrong = Partial<Record<keyof TaskForm, string>>;

export const EMPTY_FORM: TaskForm = {
  ...{ type: "", what: "", id: "", priority: "normal", depends_on: "", done_when: "" },
  review: false,
};

/**
 * The input of `enqueue`. Plain text is the payload's `goal`, which the prompts of `viv init` read;
 * text that begins with `{` is the payload itself. `madeId` is for a task without a typed id: sent
 * again, it is found there.
 */
export function specOf(form: TaskForm, madeId?: string): { input: object; wrong: Wrong } {
  const wrong: Wrong = {};
  const trimmed = (key: "type" | "what" | "id" | "done_when") => form[key].trim() || undefined;
  const type = trimmed("type");
  if (type === undefined) wrong.type = "Which kind of work? Workers select tasks by it.";
  const what = trimmed("what");
  if (what === undefined) {
    wrong.what = "Say what is to be done; {} is a task without a payload.";
  }
  let payload: object | undefined = what === undefined ? undefined : { goal: what };
  if (what?.startsWith("{")) {
    try {
      payload = JSON.parse(what);
    } catch (error) {
      wrong.what = `This is not JSON: ${(error as Error).message}.`;
    }
  }
  const ids = form.depends_on.split(/[\s,]+/).filter(Boolean);
  const id = trimmed("id");
  const input = {
    ...{ type, id: id ?? madeId, payload },
    priority: form.priority === "normal" ? undefined : form.priority,
    depends_on: ids.length === 0 ? undefined : ids,
    ...{ done_when: trimmed("done_when"), review: form.review || undefined },
    if_absent: (id === undefined && madeId !== undefined) || undefined,
  };
  return { input, wrong };
}

/** At which field a refusal of the server belongs; null: at none. */
export function fieldOf(code: string, message: string, { id }: TaskForm): keyof Wrong | null {
  if (code === "TASK_EXISTS") return "id";
  if (code === "DEPENDENCY_CYCLE") return "depends_on";
  if (code !== "INVALID" && code !== "USAGE") return null;
  if (/^task id/.test(message)) {
    return message.includes(JSON.stringify(id.trim())) ? "id" : "depends_on";
  }
  const named = /^(?:task )?(type|payload|done_when|priority)\b/.exec(message)?.[1];
  return named === "payload" ? "what" : ((named as keyof Wrong | undefined) ?? null);
}
