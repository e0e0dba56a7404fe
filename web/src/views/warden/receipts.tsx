import { useState } from "preact/hooks";
import type { Receipts } from "../../live/data-shapes.ts";
import { Choice } from "../../parts/choice.tsx";
import { count, duration, moment } from "../../parts/format.ts";
import { Chip } from "../../parts/glyph.tsx";
import { Panel, Table } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { go, param, route, routeHref, taskHref } from "../../shell/router.ts";
import { VERDICT_TONE } from "./pool.tsx";
import { Proof } from "./proof.tsx";

type Receipt = Receipts["receipts"][number];
const HEAD = "Time,Suspect,Verdict,Why,>Asked,>Took,>Ended,Went back,Receipt".split(",");
const PICKS = ["All", "Executed", "Pardoned", "Failed"] as const;

/** How warrants ended. A row opens its receipt, which the address names: `warden/ID`. */
export function ReceiptTable({ receipts: { receipts, more } }: { receipts: Receipts }) {
  const [pick, setPick] = useState<(typeof PICKS)[number]>("All");
  const open = route.value.id;
  const toggle = (id: string) =>
    go(routeHref("warden", { task: param("task") }, id === open ? undefined : id));
  const isListed = receipts.some(({ warrant }) => warrant === open);
  const shown = receipts.filter(({ verdict }) => pick === "All" || verdict === pick.toLowerCase());
  return (
    <Panel
      title="Receipts"
      note={`${count(receipts.length)}${more > 0 ? ` of ${count(receipts.length + more)}` : ""}`}
      controls={<Choice label="Verdict" words={PICKS} chosen={pick} onChoose={setPick} />}
    >
      {open !== null && !isListed && (
        <div class="proof pad">
          <Proof id={open} />
        </div>
      )}
      {shown.length === 0 ? (
        <p class="pad t3">None yet. A dance that ends leaves one.</p>
      ) : (
        <Table label="Table of receipts" className="receipts" head={HEAD}>
          {shown.map((receipt) => (
            <Row
              key={receipt.warrant}
              receipt={receipt}
              isOpen={open === receipt.warrant}
              onToggle={() => toggle(receipt.warrant)}
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
      <tr
        onClick={({ target }) => {
          if (!(target as Element).closest("a, button")) onToggle();
        }}
      >
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
            <Proof id={receipt.warrant} />
          </td>
        </tr>
      )}
    </>
  );
}
