import { Icon, type IconName } from "../../parts/icons.tsx";
import { act, commandOf, once } from "../../shell/act.ts";

/** A sign at the end of a row that does one operation, with its command as its title. */
export function ActButton({
  icon,
  label,
  op,
  input,
  said,
  onChange,
}: {
  icon: IconName;
  label: string;
  op: string;
  input: object;
  said: string;
  onChange: () => void;
}) {
  const run = async () => {
    if (await act(op, input, { said })) onChange();
  };
  return (
    <button
      type="button"
      class="btn quiet icon"
      aria-label={label}
      title={commandOf(op, input)}
      onClick={once(run)}
    >
      <Icon name={icon} size={14} />
    </button>
  );
}
