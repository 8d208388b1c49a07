// The nodes as cards, zone by zone; only the rows of cards in view are drawn.

import { live } from "../api.js";
import { Icon, Menu, openMenu, rest, rove } from "../components/controls.js";
import { useRem, useWindowPart } from "../components/pages.js";
import { Bar } from "../components/tables.js";
import { openLater } from "../dialogs.js";
import { carried, startDrag } from "../drag.js";
import { asked, wouldGo } from "../store.js";
import { classes, html, useComputed, useEffect, useMemo, useRef } from "../ui.js";
import { moved, nodeActions, podActions } from "./actions.js";

// The pods of a node as small boxes: to drag elsewhere, or to choose for a menu.

const ROOM = 22;

function PodBoxes({ node }) {
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
function initials(pod) {
  return pod.name.slice(0, 2);
}

// One node: name, state, bars, pods, taints. A drop target for pods.

function NodeCard({ node }) {
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
function ownLabels(labels) {
  const given = /(^|\.)kubernetes\.io\//;
  return Object.entries(labels)
    .filter(([key]) => !given.test(key))
    .map(([key, value]) => (value ? `${key}=${value}` : key));
}

// In rem.
const CARD = { width: 19, gap: 0.625, head: 2.25, bar: 1.35, pods: 0.625, podRow: 1.625, foot: 0.75, chips: 1.5 };
const BESIDE = 11;
const HEADING = 2.25;
const MARGIN = 400;
const FEWEST_BARS = 3;
// Of what is said below a node; each may take a line.
const MOST_CHIPS = 3;

// The node that the pod went to when the grid was last drawn; undefined before.
let seen;

export function NodeGrid({ pages, onRange }) {
  const place = useRef(null);
  const rem = useRem();
  const part = useWindowPart(place);
  const { bars, podRows, chips } = useMost(pages);
  const width = part.width || 800;
  const columns = Math.max(1, Math.floor((width / rem + CARD.gap) / (CARD.width + CARD.gap)));
  const height = rem * (CARD.head + bars * CARD.bar + CARD.pods + podRows * CARD.podRow + chips * CARD.chips + CARD.foot);
  const step = height + rem * CARD.gap;
  const { zones, host, hostAt } = pages.head;
  const plan = useMemo(() => rowsOf(zones, columns, step, HEADING * rem), [zones, columns, step, rem]);
  const shown = plan.rows.filter((row) => row.top + step > part.top - MARGIN && row.top < part.bottom + MARGIN);
  const cards = shown.filter((row) => row.to > row.from);
  const from = cards[0]?.from ?? 0;
  const to = cards.at(-1)?.to ?? 30;
  useEffect(() => onRange({ from, to }), [from, to]);
  // The node that the pod goes to comes into view when it becomes another one; the page itself begins at its top.
  useEffect(() => {
    if (!part.width) return;
    const row = seen === undefined || seen === host || hostAt === null ? null : plan.rows.find((each) => each.from <= hostAt && hostAt < each.to);
    seen = host;
    if (!row) return;
    const top = place.current.getBoundingClientRect().top + row.top;
    const bar = document.querySelector(".bar").offsetHeight;
    if (top < bar || top + height > innerHeight) scrollBy({ top: top - Math.max(bar, (innerHeight - height) / 2) });
  }, [host, part.width > 0]);
  return html`<div class="node-grid" ref=${place} style=${{ height: `${plan.height}px` }}>
    ${shown.map((row) => html`<${Row} key=${row.id} row=${row} pages=${pages} columns=${columns} height=${height} />`)}
  </div>`;
}

// The most bars, rows of pods and chips that any node needs that came yet: every card is as high.
function useMost(pages) {
  const most = useRef({ bars: FEWEST_BARS, podRows: 1, chips: 1 });
  const seen = useRef(null);
  if (pages.head && seen.current !== pages.head) {
    seen.current = pages.head;
    for (const node of pages.head.nodes) {
      const { bars, podRows, chips } = most.current;
      const said = (node.name === pages.head.host) + node.cordoned + node.conditions.length + node.taints.length;
      most.current = {
        bars: Math.max(bars, shownBars(node).length),
        podRows: node.podsTotal > BESIDE ? 2 : podRows,
        chips: Math.min(MOST_CHIPS, Math.max(chips, said)),
      };
    }
  }
  return most.current;
}

// Storage that nothing asks for would only take room.
export function shownBars(node) {
  return node.resources.filter((each) => each.name !== "ephemeral-storage" || each.used || each.ghost);
}

// Zone below zone; small zones stand side by side where they fit in one row. left, span: in columns.
function rowsOf(zones, columns, step, heading) {
  const rows = [];
  let top = 0;
  let at = 0;
  let free = 0;
  for (const zone of zones) {
    const beside = zone.nodes <= free;
    const left = beside ? columns - free : 0;
    const above = beside ? top - heading - step : top;
    const span = Math.min(columns, zone.nodes);
    rows.push({ id: `zone ${zone.name}`, top: above, left, span, zone, from: 0, to: 0 });
    if (!beside) top += heading;
    for (let done = 0; done < zone.nodes; done += columns) {
      const count = Math.min(columns, zone.nodes - done);
      rows.push({ id: `row ${at}`, top: beside ? above + heading : top, left, span, from: at, to: at + count });
      at += count;
      if (!beside) top += step;
    }
    free = zone.nodes < columns ? columns - left - zone.nodes : 0;
  }
  return { rows, height: top };
}

function placeOf({ top, left, span }, columns) {
  const gap = `${CARD.gap}rem`;
  return {
    top: `${top}px`,
    left: `calc((100% + ${gap}) * ${left} / ${columns})`,
    width: `calc((100% + ${gap}) * ${span} / ${columns} - ${gap})`,
  };
}

function Row({ row, pages, columns, height }) {
  const place = placeOf(row, columns);
  if (row.zone) {
    const { name, nodes } = row.zone;
    return html`<div class="zone" style=${place}>
      <h2>${name || "No zone"} <span class="quiet">${nodes} node${nodes === 1 ? "" : "s"}</span></h2>
    </div>`;
  }
  const grid = { ...place, height: `${height}px`, gridTemplateColumns: `repeat(${row.span}, minmax(0, 1fr))` };
  const indices = Array.from({ length: row.to - row.from }, (_, at) => row.from + at);
  return html`<div class="node-row" style=${grid}>
    ${indices.map((at) => html`<${NodeCard} key=${at} node=${pages.row(at)} />`)}
  </div>`;
}
