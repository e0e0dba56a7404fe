import { useState } from "preact/hooks";
import { shellWord } from "../../parts/format.ts";
import { act } from "../../shell/act.ts";
import { CODE, FormDialog, Labelled, refusalText } from "../../shell/form-dialog.tsx";

const KINDS = [
  { key: "session", label: "tmux session", flag: "" },
  { key: "worker", label: "Worker of this run", flag: "--worker " },
  { key: "agent", label: "Agent, crew member", flag: "--agent " },
  { key: "pid", label: "Process, by its number", flag: "--pid " },
] as const;

/** A warrant against a suspect: it is asked before anything else happens. */
export function FileWarrant({ onClose, onFiled }: { onClose: () => void; onFiled: () => void }) {
  const [kind, setKind] = useState<(typeof KINDS)[number]["key"]>("session");
  const [target, setTarget] = useState("");
  const [reason, setReason] = useState("");
  const [error, setError] = useState("");
  const name = target.trim();
  const isReady = kind === "pid" ? /^[1-9]\d{0,9}$/.test(name) : name !== "";
  const flag = KINDS.find(({ key }) => key === kind)?.flag ?? "";
  const note = reason.trim();
  const command = `viv warrant file ${flag}${shellWord(name || "…")}${note === "" ? "" : ` --note ${shellWord(note)}`}`;
  const submit = async () => {
    const input = { [kind]: kind === "pid" ? Number(name) : name, reason: note || undefined };
    const answer = await act<{ filed: boolean }>("warrant file", input, {
      said: `A warrant for ${name}`,
      command,
      onRefused: (refused) => setError(refusalText(refused)),
    });
    if (answer === null) return;
    onFiled();
    onClose();
  };
  return (
    <FormDialog
      {...{ title: "File a warrant", command, yes: "File it", isReady, error, onClose }}
      onSubmit={() => void submit()}
    >
      <p class="t2">
        A dog asks the suspect up to three times. If it answers or works, it is pardoned; if it
        stays silent, its processes are ended, with a receipt.
      </p>
      <Labelled label="Suspect">
        <select
          value={kind}
          onChange={(event) => setKind(event.currentTarget.value as typeof kind)}
        >
          {KINDS.map(({ key, label }) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
        </select>
      </Labelled>
      <Labelled label={kind === "pid" ? "Number" : "Name"}>
        <input {...CODE} value={target} onInput={(event) => setTarget(event.currentTarget.value)} />
      </Labelled>
      <Labelled label="Reason, for the receipt">
        <input
          type="text"
          value={reason}
          placeholder="no_progress"
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </Labelled>
    </FormDialog>
  );
}
