import type { Money } from "../../live/data-shapes.ts";
import { amount, count, dollars } from "../../parts/format.ts";
import { Name } from "../../parts/name.tsx";
import { Panel, Table } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";

type Row = Money["by"]["model"][number];
const MOST_ROWS = 12;

const HEAD = ">Dollars,>In,>Out,>Cached,>Attempts,>Proven,>$/proven,>Landed,>$/landed".split(",");

const per = (usd: number | null) => (usd === null ? "–" : dollars(usd, 3));

/** Who spent it, with a bar beside the dearest. */
export function AgentTable({ rows, note }: { rows: readonly Row[]; note: string }) {
  const most = Math.max(...rows.map(({ usd }) => usd), 0.000001);
  return (
    <Panel title="By agent" note={note}>
      <div class="scroll-x" role="region" aria-label="Table by agent" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Agent</th>
              <th class="bars">
                <span class="unseen">Share</span>
              </th>
              <th class="right">Dollars</th>
              <th class="right">$/proven</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_ROWS).map(({ key, usd, usd_per_proven }) => (
              <tr key={key}>
                <td class="who">
                  <Name text={plain(key ?? "unknown")} />
                </td>
                <td class="bars">
                  <i class="hb" style={{ width: `${(usd / most) * 100}%` }} />
                </td>
                <td class="right">{dollars(usd)}</td>
                <td class="right t2">{per(usd_per_proven)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <More rows={rows} />
      </div>
    </Panel>
  );
}

export function SpendingTable({
  title,
  rows,
  total,
  note,
}: {
  title: string;
  rows: readonly Row[];
  total: Money["total"];
  note: string;
}) {
  return (
    <Panel title={title} note={note}>
      <Table
        label={`Table, ${title.toLowerCase()}`}
        head={[title.replace("By ", "").replace(/^./, (c) => c.toUpperCase()), ...HEAD]}
      >
        {rows.slice(0, MOST_ROWS).map((row) => (
          <tr key={row.key}>
            <td class="who">
              <Name text={plain(row.key ?? "unknown")} />
            </td>
            <Cells {...row} />
          </tr>
        ))}
        <tr class="total">
          <td>total</td>
          <Cells {...total} />
        </tr>
      </Table>
      <More rows={rows} />
      <p class="foot sm t3">
        {dollars(total.reported)} reported by the vendors, {dollars(total.imputed)} imputed from the
        price table
        {total.unpriced_tokens > 0 && `; ${amount(total.unpriced_tokens)} tokens without a price`}
      </p>
    </Panel>
  );
}

function Cells(row: Omit<Row, "key">) {
  const { usd, tokens, attempts, proven, landed, unpriced_tokens } = row;
  return (
    <>
      <td class="right" title={unpriced_tokens > 0 ? "some tokens have no price" : undefined}>
        {dollars(usd)}
        {unpriced_tokens > 0 && <span class="c s-review">*</span>}
      </td>
      <td class="right t2">{amount(tokens.input)}</td>
      <td class="right t2">{amount(tokens.output)}</td>
      <td class="right t2">
        {tokens.cache_read + tokens.cache_write === 0
          ? "–"
          : amount(tokens.cache_read + tokens.cache_write)}
      </td>
      <td class="right t2">{count(attempts)}</td>
      <td class="right">{count(proven)}</td>
      <td class="right">{per(row.usd_per_proven)}</td>
      <td class="right t2">{count(landed)}</td>
      <td class="right">{per(row.usd_per_landed)}</td>
    </>
  );
}

function More({ rows }: { rows: readonly Row[] }) {
  if (rows.length <= MOST_ROWS) return null;
  return <p class="foot sm t3">{count(rows.length - MOST_ROWS)} more</p>;
}
