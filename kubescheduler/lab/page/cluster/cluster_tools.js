// Above the nodes: find, add, schedule, and how they are shown.

import { edit, live } from "../api.js";
import { Choice, Find } from "../components/fields.js";
import { Icon } from "../components/icons.js";
import { Menu } from "../components/menu.js";
import { SaveChart } from "../components/save_chart.js";
import { openLater } from "../dialogs.js";
import { asked, side, state } from "../store.js";
import { html } from "../ui.js";

export function ClusterTools({ find, onFind, view, onView, chart }) {
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
  return `${nodesTotal} nodes, ${podsTotal} pods, ${pendingTotal} pending`;
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
