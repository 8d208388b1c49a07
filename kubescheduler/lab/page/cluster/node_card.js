// One node: name, state, bars, pods, taints. A drop target for pods.

import { Bar } from "../components/bar.js";
import { Icon } from "../components/icons.js";
import { Menu } from "../components/menu.js";
import { live } from "../api.js";
import { carried } from "../drag.js";
import { openLater } from "../dialogs.js";
import { asked, wouldGo } from "../store.js";
import { classes, html, useComputed } from "../ui.js";
import { MOST_CHIPS, shownBars } from "./node_grid.js";
import { nodeActions } from "./node_actions.js";
import { PodBoxes } from "./pod_boxes.js";

export function NodeCard({ node }) {
  const name = node?.name ?? null;
  const state = useComputed(() => name && targetState(name)).value;
  if (!node) return html`<div class="node waiting"><span class="unseen">coming</span></div>`;
  const goes = wouldGo.value === name;
  const details = () => openLater("nodeDetails", { name: node.name });
  return html`<article class=${classes("node", node.cordoned && "cordoned", goes && "goes", state)} data-node=${name} aria-label=${name}>
    <div class="node-head">
      <button type="button" class="plain node-name" onClick=${details} title=${`All about ${node.name}`}>${node.name}</button>
      ${live() && html`<${NodeMenu} node=${node} />`}
    </div>
    ${shownBars(node).map((each) => html`<${Bar} key=${each.name} resource=${each} />`)}
    <${PodBoxes} node=${node} />
    <div class="chips node-foot">${footChips(node, goes)}</div>
  </article>`;
}

// What a pod that is carried over this node shows: "" for none, "target" until the scheduler's word, "good" or "bad".
function targetState(name) {
  const at = carried.value;
  if (at?.node !== name) return "";
  if (!at.verdict) return "target";
  return at.verdict.fits ? "good" : "bad";
}

function NodeMenu({ node }) {
  return html`<${Menu} label=${`Change ${node.name}`} items=${nodeActions(node)}><${Icon} name="more" /></${Menu}>`;
}

function footChips(node, goes) {
  const chips = [
    ...(goes ? [html`<span class="chip accent">✓ ${asked.value?.name} goes here</span>`] : []),
    ...(node.cordoned ? [html`<span class="chip warn">‖ cordoned</span>`] : []),
    ...node.conditions.map((text) => html`<span class="chip refuse">! ${text}</span>`),
    ...node.taints.map((text) => html`<${Taint} text=${text} />`),
  ];
  if (chips.length > MOST_CHIPS) {
    const rest = chips.length - MOST_CHIPS + 1;
    return [...chips.slice(0, -rest), html`<span class="chip warn">and ${rest} more</span>`];
  }
  if (chips.length) return chips;
  return ownLabels(node.labels).map((text) => html`<span class="chip" title="label">${text}</span>`);
}

// Where there is little room the key is cut, never the effect.
function Taint({ text }) {
  const at = text.lastIndexOf(":");
  return html`<span class="chip warn taint" title=${`taint ${text}`}><span class="cut">${text.slice(0, at)}</span><span>${text.slice(at)}</span></span>`;
}

// Labels that say something beyond the node's name and place.
export function ownLabels(labels) {
  const given = /(^|\.)kubernetes\.io\//;
  return Object.entries(labels)
    .filter(([key]) => !given.test(key))
    .map(([key, value]) => (value ? `${key}=${value}` : key));
}
