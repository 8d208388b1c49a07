// A bar of parts, each as wide as its value, in shades of the accent; and what the shades stand for.

import { html } from "../ui.js";

const DARKEST = 92;
const LIGHTEST = 22;

// The share of the accent in the shade of one of `count` parts; neighbours differ as much as they can.
function strength(at, count) {
  if (count < 2) return DARKEST;
  const order = at % 2 === 0 ? at / 2 : Math.ceil(count / 2) + (at - 1) / 2;
  return DARKEST - ((DARKEST - LIGHTEST) * order) / (count - 1);
}

export function shade(at, count) {
  return `color-mix(in oklab, var(--accent) ${Math.round(strength(at, count))}%, var(--page))`;
}

// parts: [{id, title, value}], all of them in each row, so that a shade means the same everywhere. scale: the value that
// fills the width. label: the numbers in words.
export function Stack({ parts, scale, label }) {
  let from = 0;
  const width = (value) => (100 * Math.max(0, value)) / (scale || 1);
  return html`<svg class="stack" role="img" aria-label=${label} viewBox="0 0 100 8" preserveAspectRatio="none" focusable="false">
    <rect class="ground" width="100" height="8" />
    ${parts.map((part, at) => {
      const x = from;
      from += width(part.value);
      if (part.value <= 0) return null;
      return html`<rect key=${part.id} class="part" x=${x} width=${width(part.value)} height="8" fill=${shade(at, parts.length)}>
        <title>${part.title}: ${part.value}</title>
      </rect>`;
    })}
  </svg>`;
}

// titles: of the parts, in their order.
export function StackLegend({ titles }) {
  return html`<ul class="legend">
    ${titles.map(
      (text, at) => html`<li>
        <svg viewBox="0 0 10 10" aria-hidden="true" focusable="false"><rect width="10" height="10" fill=${shade(at, titles.length)} /></svg>
        ${text}
      </li>`,
    )}
  </ul>`;
}
