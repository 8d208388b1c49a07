// The pods that wait, with what the scheduler says of each; choosing one makes it the pod that every screen asks about.

import { edit, live, useAnswer } from "../api.js";
import { openLater } from "../dialogs.js";
import { startDrag } from "../drag.js";
import { asked, screen, side, state, wouldGo } from "../store.js";
import { classes, html, useEffect, useState } from "../ui.js";
import { IconButton } from "./icons.js";
import { Answered } from "./states.js";

export function Pending() {
  const known = useAnswer("pending", { side: side.value?.id }, { when: Boolean(side.value) });
  const [open, setOpen] = useState(matchMedia("(min-width: 70rem)").matches);
  const host = known.answer?.pods.find((each) => each.key === asked.value?.key)?.host ?? null;
  useEffect(() => {
    wouldGo.value = host;
  }, [host]);
  const total = state.value?.pendingTotal ?? 0;
  return html`<section class=${classes("pending", open && "open")} aria-label="Pending pods">
    <h2>
      <button type="button" class="plain" aria-expanded=${open} onClick=${() => setOpen(!open)}>
        Pending <span class="count">${total}</span>
      </button>
    </h2>
    ${
      open &&
      html`<${Answered} known=${known} text="Asking for the pending pods">
        ${(answer) => html`<${List} pods=${answer.pods} more=${answer.more} />`}
      </${Answered}>`
    }
  </section>`;
}

function List({ pods, more }) {
  if (!pods.length) return html`<p class="quiet">Every pod has a node.</p>`;
  return html`<ul>
      ${pods.map((pod) => html`<${PendingPod} key=${pod.key} pod=${pod} />`)}
    </ul>
    ${more > 0 && html`<p class="quiet">and ${more} more</p>`}`;
}

function PendingPod({ pod }) {
  const chosen = asked.value?.key === pod.key;
  const ask = () => !chosen && edit({ do: "ask", pod: pod.key }, { quiet: true });
  const [namespace, name] = pod.key.split("/");
  // In a lesson the answer is to be guessed.
  const told = screen.value !== "class";
  const movable = live() && screen.value === "cluster";
  const drag = (event) => movable && startDrag(event, pod.key, drop);
  const byMouse = (event) => event.pointerType === "mouse" && drag(event);
  const move = () => openLater("moveTo", { pod: pod.key });
  return html`<li>
    <button
      type="button"
      class="pod-choice"
      aria-pressed=${chosen}
      disabled=${!live() && !chosen}
      onClick=${ask}
      onPointerDown=${byMouse}
    >
      <span class="name">${name}</span> <span class="quiet">${namespace}</span>
      ${told && html`<span class=${classes("verdict", pod.host ? "fits" : pod.gated || pod.nominated ? "quiet" : "refused")}>${verdict(pod)}</span>`}
      ${told && pod.message && !pod.host && html`<span class="message" title=${pod.message}>${pod.message}</span>`}
    </button>
    ${
      movable &&
      html`<${IconButton} name="move" label=${`Move ${pod.key} to …, or drag it onto a node`} onClick=${move} onPointerDown=${drag} />`
    }
  </li>`;
}

// The module of drops is loaded with the screen that takes them.
async function drop(pod, node, verdict) {
  const { moved } = await import("../cluster/pod_actions.js");
  moved(pod, node, verdict);
}

function verdict(pod) {
  if (pod.gated) return "‖ held by a scheduling gate";
  if (pod.host) return `✓ would go to ${pod.host}`;
  if (pod.error) return "! the attempt failed";
  if (pod.nominated) return `… nominated to ${pod.nominated}`;
  return "✗ fits nowhere";
}
