// Above the nodes: find, add, schedule, and how they are shown.

import { edit, live } from "../api.js";
import { Icon } from "../components/icons.js";
import { Menu } from "../components/menu.js";
import { openLater } from "../dialogs.js";
import { asked, side, state } from "../store.js";
import { html, useRef } from "../ui.js";

const PAUSE = 150;

export function ClusterTools({ find, onFind, view, onView }) {
  return html`<div class="toolbar">
    <${Find} find=${find} onFind=${onFind} label="Find nodes by name" />
    ${live() && html`<${Add} /> <${Schedule} />`}
    <${Choice} name="nodes-view" label="How the nodes are shown" value=${view} onChange=${onView} choices=${VIEWS} />
    <p class="totals quiet">${totals(state.value)}</p>
  </div>`;
}

const VIEWS = [
  ["bars", "Bars"],
  ["table", "Table"],
];

function totals({ nodesTotal, podsTotal, pendingTotal }) {
  return `${nodesTotal} nodes, ${podsTotal} pods, ${pendingTotal} pending`;
}

// A field to search in; what is typed counts after a short pause.
export function Find({ find, onFind, label }) {
  const timer = useRef(0);
  const typed = (event) => {
    const text = event.target.value.trim();
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onFind(text), PAUSE);
  };
  return html`<label class="find">
    <${Icon} name="search" />
    <input type="search" aria-label=${label} placeholder=${label} defaultValue=${find} onInput=${typed} />
  </label>`;
}

// One of a few, side by side. choices: [[value, text]]
export function Choice({ name, label, value, choices, onChange }) {
  return html`<fieldset class="segments">
    <legend class="unseen">${label}</legend>
    ${choices.map(
      ([each, text]) => html`<label key=${each}>
        <input type="radio" name=${name} checked=${value === each} onChange=${() => onChange(each)} /><span>${text}</span>
      </label>`,
    )}
  </fieldset>`;
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
