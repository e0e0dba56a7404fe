import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../parts/icons.tsx";
import type NewTask from "../views/new-task/new-task.tsx";

/** The dialog of a new task is a file of its own, read when it is first opened. */
const isOpen = signal(false);

export function openNewTask(): void {
  isOpen.value = true;
}

const close = () => {
  isOpen.value = false;
};

export function NewTaskDialog() {
  const [Form, setForm] = useState<{ default: typeof NewTask } | null>(null);
  useEffect(() => {
    if (isOpen.value && Form === null) void import("../views/new-task/new-task.tsx").then(setForm);
  }, [isOpen.value]);
  return isOpen.value && Form ? <Form.default onClose={close} /> : null;
}

export function NewTaskButton() {
  return (
    <button
      type="button"
      class="btn"
      title="viv enqueue (N)"
      aria-label="New task"
      onClick={openNewTask}
    >
      <Icon name="plus" size={14} />
      <span class="desk">New task</span>
    </button>
  );
}
