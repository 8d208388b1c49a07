// A rule has one letter and one shade of the accent on the whole page, in the order in which rules are first seen;
// neighbours differ, and the letters stay legible on their shades.

import { html } from "../ui.js";

const STRONG = [92, 84, 76];
const WEAK = [20, 30, 40];

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
  const at = place(rule);
  const strong = at % 2 === 0;
  const share = (strong ? STRONG : WEAK)[Math.floor(at / 2) % 3];
  return {
    backgroundColor: `color-mix(in srgb, var(--accent) ${share}%, var(--page))`,
    color: strong ? "var(--accent-text)" : "var(--text)",
  };
}

export function Swatch({ rule, ...rest }) {
  return html`<b class="swatch" ...${rest} style=${shading(rule)}>${letter(rule)}</b>`;
}

// What the letters stand for. rules: [{id, title, weight}]
export function RuleKey({ rules }) {
  return html`<ul class="rule-key" aria-label="Rules and their weights">
    ${rules.map((rule) => html`<li><${Swatch} rule=${rule.id} /> ${rule.title} <span class="quiet">× ${rule.weight}</span></li>`)}
  </ul>`;
}
