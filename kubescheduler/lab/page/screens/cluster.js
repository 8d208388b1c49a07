// Nodes by zone, with what is used of them and what the asked pod would take; everything on them can be changed.

import { edit, live } from "../api.js";
import { NodeGrid, shownBars } from "../cluster/nodes.js";
import { Choice, Find, Icon, Menu } from "../components/controls.js";
import { usePages } from "../components/pages.js";
import { Empty, Faults, Loading, Notes } from "../components/states.js";
import { DataTable, drawnOf, SaveChart, short } from "../components/tables.js";
import { openLater } from "../dialogs.js";
import { asked, side, state, wouldGo } from "../store.js";
import { html, useEffect, useSheet, useState, useWhenNew } from "../ui.js";

// The same nodes as a table, with every amount.

const PAGE = 60;

function NodeTable({ pages, onRange }) {
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

// Above the nodes: find, add, schedule, and how they are shown.

function ClusterTools({ find, onFind, view, onView, chart }) {
  return html`<div class="toolbar">
    <${Find} find=${find} onFind=${onFind} label="Find nodes by name" />
    ${live() && html`<${Add} /> <${Schedule} />`}
    <${Choice} name="nodes-view" label="How the nodes are shown" value=${view} onChange=${onView} choices=${VIEWS} />
    <p class="totals quiet">${totals(state.value)}</p>
    ${chart && html`<${SaveChart} kind="resources" what="nodes" chart=${chart} />`}
  </div>`;
}

const VIEWS = [
  ["bars", "Bars"],
  ["table", "Table"],
];

function totals({ nodesTotal, podsTotal, pendingTotal }) {
  const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  return `${counted(nodesTotal, "node")}, ${counted(podsTotal, "pod")}, ${pendingTotal} pending`;
}

function Add() {
  const items = [
    { text: "Node …", run: () => openLater("addNode") },
    { text: "Pods …", quiet: "by a form, one or several", run: () => openLater("addPod") },
    { text: "From YAML …", quiet: "any manifests", run: () => openLater("addYaml") },
  ];
  return html`<${Menu} label="Add to the cluster" items=${items} buttonClass="with-icon" align="start">
    <${Icon} name="add" /> Add
  </${Menu}>`;
}

function Schedule() {
  const pod = asked.value;
  const waiting = state.value.pendingTotal;
  const pending = pod && state.value.pods.some((each) => each.key === pod.key && !each.node);
  const schedule = (what) => edit({ do: "schedule", side: side.value.id, pod: what });
  const items = [
    {
      text: pod ? `Schedule ${pod.name}` : "Schedule the pod",
      quiet: pending ? "decide, and bind it there" : pod ? "it has a node already" : "no pod is asked about",
      disabled: !pending,
      run: () => schedule(pod.key),
    },
    {
      text: "Schedule all pending pods",
      quiet: waiting ? `${waiting}, in the order of the queue` : "there are none",
      disabled: !waiting,
      run: () => schedule("pending"),
    },
  ];
  return html`<${Menu} label="Schedule: let the scheduler bind pods" items=${items} buttonClass="with-icon" align="start">
    <${Icon} name="play" /> Schedule
  </${Menu}>`;
}

// The nodes that came yet, as they are drawn in a file.

function clusterChart(pages) {
  const { total } = pages.head;
  const { title, asked } = state.value;
  const nodes = pages.known(total);
  return {
    name: "cluster",
    title: title || "Cluster",
    text: `${totals({ ...state.value, nodesTotal: total })}.`,
    notes: drawnOf(nodes.length, total, "nodes"),
    nodes,
    bars: shownBars,
    asked: asked?.name ?? null,
    goes: wouldGo.value,
  };
}

useSheet("style/cluster.css");

export default function Cluster() {
  const [find, setFind] = useState("");
  const [view, setView] = useState("bars");
  const [range, setRange] = useState({ from: 0, to: 30 });
  const pages = usePages("cluster", { side: side.value.id, find }, range);
  return html`
    <${ClusterTools} find=${find} onFind=${setFind} view=${view} onView=${setView} chart=${pages.head?.total ? () => clusterChart(pages) : null} />
    <${Legend} />
    <${Notes} notes=${state.value.notes} />
    <${Nodes} pages=${pages} find=${find} view=${view} onRange=${setRange} />
  `;
}

function Nodes({ pages, find, view, onRange }) {
  if (pages.problems) return html`<${Faults} problems=${pages.problems} />`;
  if (!pages.head) return html`<${Loading} text="Asking for the nodes" />`;
  if (!pages.head.total && find) return html`<${Empty} title=${`No node has “${find}” in its name`} />`;
  if (!pages.head.total) return html`<${NoNodes} />`;
  const Shown = view === "table" ? NodeTable : NodeGrid;
  return html`<${Shown} key=${view} pages=${pages} onRange=${onRange} />`;
}

function NoNodes() {
  const action = live() && { text: "Add a node", run: () => openLater("addNode") };
  return html`<${Empty} title="The cluster has no node" action=${action}>
    <p>Every pod stays pending until there is one.</p>
  </${Empty}>`;
}

function Legend() {
  const asked = state.value.asked;
  return html`<p class="bar-legend quiet">
    <span><i class="key used" aria-hidden="true"></i> used</span>
    ${asked && html`<span><i class="key ghost" aria-hidden="true"></i> what ${asked.name} asks for</span>`}
    <span><i class="key free" aria-hidden="true"></i> free</span>
  </p>`;
}
