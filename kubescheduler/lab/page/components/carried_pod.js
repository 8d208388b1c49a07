// The pod that follows the pointer, with what the scheduler says of the node below it.

import { carried } from "../drag.js";
import { classes, html } from "../ui.js";

export function CarriedPod() {
  const at = carried.value;
  if (!at) return null;
  const { verdict } = at;
  const place = { transform: `translate(${Math.min(at.x + 14, innerWidth - 260)}px, ${at.y + 14}px)` };
  return html`<div class=${classes("carried", verdict && (verdict.fits ? "good" : "bad"))} style=${place} aria-hidden="true">
    <strong>${at.pod}</strong>
    <span>${at.node ? (verdict ? verdictText(verdict) : `${at.node}${at.silent ? "?" : " …"}`) : "drop it on a node"}</span>
  </div>`;
}

// "✓ fits worker-2" or "✗ worker-2: Insufficient cpu"
export function verdictText({ node, fits, refusals }) {
  if (fits) return `✓ fits ${node}`;
  return `✗ ${node}: ${refusals.map((each) => each.reason).join("; ") || "does not fit"}`;
}
