// The pods of a node as small boxes: to drag elsewhere, or to choose for a menu.

import { live } from "../api.js";
import { openMenu } from "../components/menu.js";
import { rest, rove } from "../components/roving.js";
import { startDrag } from "../drag.js";
import { openLater } from "../dialogs.js";
import { asked } from "../store.js";
import { classes, html } from "../ui.js";
import { moved, podActions } from "./pod_actions.js";

const ROOM = 22;

export function PodBoxes({ node }) {
  const boxes = node.pods.slice(0, node.podsTotal > ROOM ? ROOM - 1 : ROOM);
  const more = node.podsTotal - boxes.length;
  const all = () => openLater("nodeDetails", { name: node.name });
  if (!node.podsTotal) return html`<div class="pod-boxes quiet"><span class="none">no pods</span></div>`;
  return html`<div class="pod-boxes" role="group" aria-label=${`Pods on ${node.name}`} onKeyDown=${rove} onFocusIn=${rest}>
    ${boxes.map((pod, at) => html`<${PodBox} key=${pod.key} pod=${pod} first=${at === 0} node=${node.name} />`)}
    ${more > 0 && html`<button type="button" class="pod-box more" data-rove tabindex="-1" onClick=${all}>+${more}</button>`}
  </div>`;
}

function PodBox({ pod, first, node }) {
  const chosen = asked.value?.key === pod.key;
  const text = `${pod.key}, priority ${pod.priority}${pod.owner ? `, of ${pod.owner}` : ""}`;
  const menu = (event) => openMenu(event.currentTarget, pod.key, podActions({ ...pod, node }));
  return html`<button
    type="button"
    class=${classes("pod-box", chosen && "chosen")}
    data-rove
    tabindex=${first ? 0 : -1}
    title=${text}
    aria-haspopup="menu"
    onPointerDown=${(event) => live() && startDrag(event, pod.key, moved)}
    onClick=${menu}
  >
    <span aria-hidden="true">${initials(pod)}</span><span class="unseen">${text}</span>
  </button>`;
}

// Two letters, which pods of one workload share.
export function initials(pod) {
  return pod.name.slice(0, 2);
}
