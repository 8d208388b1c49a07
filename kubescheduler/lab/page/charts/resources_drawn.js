// Nodes by rows, resources by columns: what is used, what the asked pod would take, what is free.

import { short } from "../components/tables.js";
import { html } from "../ui.js";
import { widest } from "./sheet.js";

const ROW = 24;
const BAR = 110;
const TALL = 12;
const GAP = 18;
const HATCH = 4;

// chart: {nodes: as the verb `cluster` answers, bars(node): its resources that are shown, asked: the pod's name or null,
// goes: the node to which it would go, or null}
export function resourcesDrawn({ nodes, bars, asked, goes }, ink) {
  const resources = [...new Set(nodes.flatMap((node) => bars(node).map((each) => each.name)))];
  const nameOf = (node) => [node.name, ...stateOf(node, goes)].join(" ");
  const names = widest(nodes.map(nameOf), 700);
  const zones = widest([...nodes.map((node) => node.zone), "Zone"], 700);
  let x = names + GAP + zones + GAP;
  const columns = resources.map((name) => {
    const found = nodes.map((node) => bars(node).find((each) => each.name === name));
    const column = { name, found, x };
    x += Math.max(BAR + 8 + widest(found.map(amounts)), widest([short(name)], 700)) + GAP;
    return column;
  });
  const body = html`<g>
    <g font-weight="600" fill=${ink("var(--quiet)")}>
      <text y="14">Node</text><text x=${names + GAP} y="14">Zone</text>
      ${columns.map((each) => html`<text x=${each.x} y="14">${short(each.name)}</text>`)}
    </g>
    ${nodes.map(
      (node, at) => html`<g transform=${`translate(0 ${(at + 1) * ROW})`}>
        <text y="14" font-weight=${node.name === goes ? 700 : 400}>${nameOf(node)}</text>
        <text x=${names + GAP} y="14" fill=${ink("var(--quiet)")}>${node.zone}</text>
        ${columns.map((each) => each.found[at] && bar(each.found[at], each.x, ink))}
      </g>`,
    )}
  </g>`;
  return { body, width: x - GAP, height: (nodes.length + 1) * ROW, keys: barKeys(asked, ink) };
}

function stateOf(node, goes) {
  return [...(node.name === goes ? ["✓ goes here"] : []), ...(node.cordoned ? ["‖ cordoned"] : []), ...node.conditions.map((text) => `! ${text}`)];
}

function isOver({ ghost, used, allocatable }) {
  return ghost > 0 && used + ghost > allocatable;
}

function amounts(resource) {
  if (!resource) return "";
  const { text, ghost } = resource;
  return `${isOver(resource) ? "! " : ""}${text.used}${ghost ? ` (+${text.ghost})` : ""} / ${text.allocatable}`;
}

function bar(resource, x, ink) {
  const { allocatable, used, ghost } = resource;
  const whole = Math.max(allocatable, used, 1);
  const filled = (BAR * used) / whole;
  const wanted = ghost ? Math.max(3, (BAR * Math.min(ghost, whole - used)) / whole) : 0;
  const from = Math.min(x + filled, x + BAR - wanted);
  const colour = isOver(resource) ? ink("var(--refuse)") : ink("var(--accent)");
  return html`<g>
    <rect x=${x} y="4" width=${BAR} height=${TALL} fill=${ink("var(--free)")} />
    <rect x=${x} y="4" width=${filled} height=${TALL} fill=${ink("var(--used)")} />
    ${wanted ? hatched(from, 4, wanted, colour) : null}
    <text x=${x + BAR + 8} y="14" fill=${isOver(resource) ? colour : ink("var(--text)")}>${amounts(resource)}</text>
  </g>`;
}

// A frame with upright lines in it, which is told from a full one without its colour.
function hatched(x, y, wide, colour) {
  let lines = `M${x} ${y}h${wide}v${TALL}h${-wide}Z`;
  for (let at = HATCH; at < wide; at += HATCH) lines += `M${x + at} ${y}v${TALL}`;
  return html`<path d=${lines} fill="none" stroke=${colour} />`;
}

function barKeys(asked, ink) {
  const filled = (name) => html`<rect y="1" width="24" height=${TALL} fill=${ink(name)} stroke=${ink("var(--strong-line)")} />`;
  const keys = [{ wide: 24, text: "used", sample: filled("var(--used)") }];
  if (asked) {
    keys.push({ wide: 24, text: `what ${asked} asks for`, sample: hatched(0, 1, 24, ink("var(--accent)")) });
    keys.push({ wide: 24, text: "! more than is free", sample: hatched(0, 1, 24, ink("var(--refuse)")) });
  }
  return [...keys, { wide: 24, text: "free", sample: filled("var(--free)") }];
}
