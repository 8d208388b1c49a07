// Nodes by zone, with what is used of them and what the asked pod would take; everything on them can be changed.

import { live } from "../api.js";
import { NodeGrid } from "../cluster/node_grid.js";
import { NodeTable } from "../cluster/node_table.js";
import { ClusterTools } from "../cluster/cluster_tools.js";
import { clusterChart } from "../cluster/cluster_chart.js";
import { usePages } from "../components/pages.js";
import { Empty, Faults, Loading } from "../components/states.js";
import { openLater } from "../dialogs.js";
import { side, state } from "../store.js";
import { html, useSheet, useState } from "../ui.js";

export const title = "Cluster";

useSheet("style/cluster.css");

export default function Cluster() {
  const [find, setFind] = useState("");
  const [view, setView] = useState("bars");
  const [range, setRange] = useState({ from: 0, to: 30 });
  const pages = usePages("cluster", { side: side.value.id, find }, range, { slot: "cluster" });
  return html`
    <${ClusterTools} find=${find} onFind=${setFind} view=${view} onView=${setView} chart=${pages.head?.total ? () => clusterChart(pages) : null} />
    <${Legend} />
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
