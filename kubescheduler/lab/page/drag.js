// Dragging a pod onto a node, by mouse, pen or finger. The keyboard's form of it is the dialog "Move to…".

import { ask } from "./api.js";
import { side } from "./store.js";
import { classes, html } from "./ui.js";
import { signal } from "./vendor/signals.js";

// {pod, x, y, node, verdict} while a pod is carried, else null. verdict: the answer of `whatif` for that node.
export const carried = signal(null);

const FAR = 6;
const PAUSE = 100;
const EDGE = 70;

// For onPointerDown of a part that stands for a pod. dropped(pod, node, verdict): what to do there.
// silent: the scheduler is not asked on the way, since that is to be guessed.
export function startDrag(event, pod, dropped, { silent = false } = {}) {
  if (event.button !== 0 || !event.isPrimary) return;
  const origin = { x: event.clientX, y: event.clientY };
  const source = event.currentTarget;
  const asking = silent ? SILENT : whatIf(pod);
  let moved = false;
  let frame = 0;

  const move = (to) => {
    if (!moved && Math.hypot(to.clientX - origin.x, to.clientY - origin.y) < FAR) return;
    if (!moved) begin();
    to.preventDefault();
    over(to.clientX, to.clientY);
  };
  const begin = () => {
    moved = true;
    document.documentElement.dataset.dragging = "pod";
    const scroll = () => {
      const at = carried.value;
      if (!at) return;
      const by = at.y < EDGE ? at.y - EDGE : at.y > innerHeight - EDGE ? at.y - innerHeight + EDGE : 0;
      if (by) {
        scrollBy(0, by / 4);
        over(at.x, at.y);
      }
      frame = requestAnimationFrame(scroll);
    };
    frame = requestAnimationFrame(scroll);
  };
  const over = (x, y) => {
    const node = document.elementFromPoint(x, y)?.closest("[data-node]")?.dataset.node ?? null;
    const before = carried.value;
    const verdict = node && before?.node === node ? before.verdict : null;
    carried.value = { pod, x, y, node, verdict, silent };
    if (node !== (before?.node ?? null)) asking.over(node);
  };
  const end = () => {
    cancelAnimationFrame(frame);
    asking.stop();
    carried.value = null;
    delete document.documentElement.dataset.dragging;
    source.removeEventListener("pointermove", move);
    source.removeEventListener("pointerup", up);
    source.removeEventListener("pointercancel", end);
    removeEventListener("keydown", key, true);
  };
  const up = () => {
    const at = carried.value;
    end();
    if (!moved) return;
    swallowClick(source);
    if (at?.node) dropped(pod, at.node, at.verdict);
  };
  const key = (pressed) => {
    if (pressed.key !== "Escape") return;
    pressed.preventDefault();
    pressed.stopPropagation();
    end();
    source.addEventListener("pointerup", () => swallowClick(source), { once: true });
  };
  source.setPointerCapture(event.pointerId);
  source.addEventListener("pointermove", move);
  source.addEventListener("pointerup", up);
  source.addEventListener("pointercancel", end);
  addEventListener("keydown", key, true);
}

// The click that follows a drag means nothing.
function swallowClick(source) {
  const eat = (event) => {
    event.stopPropagation();
    event.preventDefault();
  };
  source.addEventListener("click", eat, { capture: true, once: true });
  setTimeout(() => source.removeEventListener("click", eat, { capture: true }), 0);
}

const SILENT = { over: () => {}, stop: () => {} };

// Asks what the scheduler says of the node below, at most once in PAUSE milliseconds; late answers are dropped.
function whatIf(pod) {
  let timer = 0;
  let last = 0;
  const inquire = async (node) => {
    last = performance.now();
    const verdict = await ask("whatif", { side: side.value.id, node, pod }, { slot: "whatif" }).catch(() => undefined);
    if (verdict && carried.value?.node === node) carried.value = { ...carried.value, verdict };
  };
  return {
    over(node) {
      clearTimeout(timer);
      if (node) timer = setTimeout(() => inquire(node), Math.max(0, last + PAUSE - performance.now()));
    },
    stop: () => clearTimeout(timer),
  };
}

// The pod that follows the pointer, with what the scheduler says of the node below it.

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
