// The same nodes as a table, with every amount.

import { short } from "../components/bar.js";
import { DataTable } from "../components/data_table.js";
import { openLater } from "../dialogs.js";
import { asked } from "../store.js";
import { html, useEffect, useState, useWhenNew } from "../ui.js";

const PAGE = 60;

export function NodeTable({ pages, onRange }) {
  const { total, host, hostAt } = pages.head;
  const [from, setFrom] = useState(pageOf(hostAt ?? 0));
  useWhenNew(host, () => hostAt !== null && setFrom(pageOf(hostAt)));
  const to = Math.min(total, from + PAGE);
  useEffect(() => onRange({ from, to }), [from, to]);
  const rows = Array.from({ length: to - from }, (_, at) => pages.row(from + at)).filter(Boolean);
  const names = [...new Set(rows.flatMap((row) => row.resources.map((each) => each.name)))];
  const columns = [
    { title: "Node", head: true, value: (row) => html`<${Name} name=${row.name} />` },
    ...(rows.some((row) => row.fits !== null) ? [{ title: asked.value.name, value: (row) => html`<${Verdict} row=${row} host=${host} />` }] : []),
    { title: "Zone", value: (row) => row.zone },
    ...names.map((name) => ({ title: short(name), number: true, value: (row) => amounts(row, name) })),
    { title: "Taints", value: (row) => row.taints.join(", ") },
    { title: "State", value: (row) => [...(row.cordoned ? ["cordoned"] : []), ...row.conditions].join(", ") },
  ];
  return html`<${DataTable} caption="Nodes: used (this pod) / allocatable" columns=${columns} rows=${rows} rowKey=${(row) => row.name} rowClass=${(row) => (row.name === host ? "chosen" : "")} />
    ${total > PAGE && html`<${Pager} from=${from} to=${to} total=${total} onFrom=${setFrom} />`}`;
}

function pageOf(at) {
  return Math.floor(at / PAGE) * PAGE;
}

function Verdict({ row, host }) {
  if (row.fits === null) return null;
  if (!row.fits) return html`<span class="refused">✗ refused</span>`;
  return html`<span class="fits">✓ ${row.name === host ? html`<b>goes here</b>` : "fits"}</span>`;
}

function Name({ name }) {
  return html`<button type="button" class="plain" onClick=${() => openLater("nodeDetails", { name })}>${name}</button>`;
}

function amounts(row, name) {
  const found = row.resources.find((each) => each.name === name);
  if (!found) return "–";
  const { text, ghost } = found;
  return `${text.used}${ghost ? ` (+${text.ghost})` : ""} / ${text.allocatable}`;
}

function Pager({ from, to, total, onFrom }) {
  return html`<p class="toolbar pager">
    <button type="button" disabled=${from === 0} onClick=${() => onFrom(Math.max(0, from - PAGE))}>Earlier</button>
    <span>${from + 1}–${to} of ${total}</span>
    <button type="button" disabled=${to === total} onClick=${() => onFrom(from + PAGE)}>Later</button>
  </p>`;
}
