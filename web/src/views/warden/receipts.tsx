import { useState } from "preact/hooks";
import type { Receipts } from "../../live/data-shapes.ts";
import { Choice } from "../../parts/choice.tsx";
import { count, duration, moment } from "../../parts/format.ts";
import { Chip } from "../../parts/glyph.tsx";
import { Panel, Table } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { copy } from "../../shell/act.ts";
import { taskHref } from "../../shell/router.ts";
import { VERDICT_TONE } from "./pool.tsx";

type Receipt = Receipts["receipts"][number];
const HEAD = "Time,Suspect,Verdict,Why,>Asked,>Took,>Ended,Went back,Receipt".split(",");
const PICKS = ["All", "Executed", "Pardoned", "Failed"] as const;

/** How warrants ended. A row opens its proof: each process, its signal, and when it was gone. */
export function ReceiptTable({ receipts: { receipts, more } }: { receipts: Receipts }) {
  const [pick, setPick] = useState<(typeof PICKS)[number]>("All");
  const [open, setOpen] = useState<string | null>(null);
  const shown = receipts.filter(({ verdict }) => pick === "All" || verdict === pick.toLowerCase());
  return (
    <Panel
      title="Receipts"
      note={`${count(receipts.length)}${more > 0 ? ` of ${count(receipts.length + more)}` : ""}`}
      controls={<Choice label="Verdict" words={PICKS} chosen={pick} onChoose={setPick} />}
    >
      {shown.length === 0 ? (
        <p class="pad t3">None yet. A dance that ends leaves one.</p>
      ) : (
        <Table label="Table of receipts" className="receipts" head={HEAD}>
          {shown.map((receipt) => (
            <Row
              key={receipt.warrant}
              receipt={receipt}
              isOpen={open === receipt.warrant}
              onToggle={() => setOpen(open === receipt.warrant ? null : receipt.warrant)}
            />
          ))}
        </Table>
      )}
    </Panel>
  );
}

function Row({
  receipt,
  isOpen,
  onToggle,
}: {
  receipt: Receipt;
  isOpen: boolean;
  onToggle: () => void;
}) {
  const { target, verdict, why, ended_at, duration_ms, asked, exit, survivors, reaped } = receipt;
  const gone = exit.filter(({ gone_at }) => gone_at !== null).length;
  return (
    <>
      <tr>
        <td class="t3">{moment(ended_at)}</td>
        <td>
          <bdi class="id">{plain(target)}</bdi>
        </td>
        <td>
          <Chip tone={VERDICT_TONE[verdict]}>{verdict.replace("_", " ")}</Chip>
        </td>
        <td class="t2 because cut" title={plain(why)}>
          <bdi>{plain(why)}</bdi>
        </td>
        <td class="right">{count(asked)}</td>
        <td class="right">{duration(duration_ms)}</td>
        <td class={survivors.length > 0 ? "right c s-failed" : "right"}>
          {exit.length === 0 ? "–" : `${gone} of ${exit.length + survivors.length}`}
        </td>
        <td>
          {reaped.length === 0 ? (
            <span class="t3">–</span>
          ) : (
            reaped.slice(0, 2).map((id) => (
              <a key={id} class="id" href={taskHref(id)}>
                <bdi>{id}</bdi>{" "}
              </a>
            ))
          )}
        </td>
        <td>
          <button type="button" class="cmd" aria-expanded={isOpen} onClick={onToggle}>
            {receipt.warrant}
          </button>
        </td>
      </tr>
      {isOpen && (
        <tr class="proof">
          <td colSpan={9}>
            <Proof receipt={receipt} />
          </td>
        </tr>
      )}
    </>
  );
}

/** The proof of death, process by process. */
function Proof({ receipt }: { receipt: Receipt }) {
  const { exit, survivors, warrant, requester, reason, dog } = receipt;
  const command = `viv epitaph ${warrant}`;
  return (
    <div class="proof-of">
      <p class="t2">
        <bdi>{plain(reason)}</bdi>, filed by <bdi>{plain(requester)}</bdi>, carried out by {dog}.{" "}
        <button type="button" class="cmd" title="Copy" onClick={() => void copy(command)}>
          {command}
        </button>
      </p>
      {exit.length === 0 ? (
        <p class="t3">No process was ended.</p>
      ) : (
        <ul>
          {exit.map(({ pid, command, signal, gone_at }) => (
            <li key={pid}>
              <span class="mono t3">{pid}</span>
              <span class="mono cut grow">
                <bdi>{plain(command)}</bdi>
              </span>
              <span class="t2">{signal === "none" ? "ended by itself" : signal}</span>
              <span class={gone_at === null ? "c s-failed" : "t3"}>
                {gone_at === null ? "still there" : `gone ${moment(gone_at)}`}
              </span>
            </li>
          ))}
        </ul>
      )}
      {survivors.length > 0 && (
        <p class="c s-failed">Survived: {survivors.map(String).join(", ")}</p>
      )}
    </div>
  );
}
