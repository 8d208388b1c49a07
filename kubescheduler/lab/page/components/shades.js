// A rule has one letter and one colour on the whole page, in the order in which rules are first seen. There are as many
// colours as the largest default profile has rules, and one more; the ten rules after these have them again, with a line
// along the upper and lower edge. No two rules share a letter.

import { html, humps } from "../ui.js";

// On the light page and on the dark one: far apart also for eyes that do not tell red, green or blue, light beside dark.
const COLOURS = [
  ["#b7702e", "#9d919b"],
  ["#1b1158", "#5d2729"],
  ["#5e99fd", "#10acfa"],
  ["#4b1a07", "#3b3983"],
  ["#aea79a", "#f0ad15"],
  ["#394776", "#8d525b"],
  ["#9ed5fd", "#60ecf3"],
  ["#714d1d", "#576cb7"],
  ["#ecca6c", "#f3f695"],
  ["#2e68c6", "#d36614"],
];
const EDGE = "2px";

const places = new Map();
function place(rule) {
  if (!places.has(rule)) places.set(rule, places.size);
  return places.get(rule);
}

// rule: its id, as decisions have it.
export function letter(rule) {
  const at = place(rule);
  return at < 26 ? String.fromCharCode(65 + at) : `${at + 1}`;
}

export function shading(rule) {
  const colours = COLOURS[place(rule) % COLOURS.length];
  const color = themed(colours.map(inkOn));
  return { backgroundColor: themed(colours), color, ...(edged(rule) ? { backgroundImage: edges(color) } : {}) };
}

// Whether a rule has a colour that another has without lines along its edges.
export function edged(rule) {
  return Math.floor(place(rule) / COLOURS.length) % 2 === 1;
}

function edges(color) {
  return `linear-gradient(${color} ${EDGE}, transparent ${EDGE} calc(100% - ${EDGE}), ${color} calc(100% - ${EDGE}))`;
}

function themed([light, dark]) {
  return `light-dark(${light}, ${dark})`;
}

// Black or white, whichever stands out more: both do alike on a luminance of 0.18.
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000000" : "#ffffff";
}

export function Swatch({ rule, ...rest }) {
  return html`<b class="swatch" ...${rest} style=${shading(rule)}>${letter(rule)}</b>`;
}

// What the letters stand for. rules: [{id, title, weight}]
export function RuleKey({ rules }) {
  return html`<ul class="rule-key" aria-label="Rules and their weights">
    ${rules.map((rule) => html`<li><${Swatch} rule=${rule.id} /> ${humps(rule.title)} <span class="quiet">× ${rule.weight}</span></li>`)}
  </ul>`;
}

// A bar of parts, each as wide as its value, in the shade and with the letter of its rule.

// parts: [{id, title, value}]. scale: the value that fills the width. label: the numbers in words.
export function Stack({ parts, scale, label }) {
  const wide = (value) => `${(100 * value) / (scale || 1)}%`;
  return html`<div class="stack" role="img" aria-label=${label}>
    ${parts
      .filter((part) => part.value > 0)
      .map((part) => html`<b key=${part.id} style=${{ width: wide(part.value), ...shading(part.id) }} title=${`${part.title} ${part.value}`}>${letter(part.id)}</b>`)}
  </div>`;
}
