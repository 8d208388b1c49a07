// A bar of parts, each as wide as its value, in the shade and with the letter of its rule.

import { html } from "../ui.js";
import { letter, shading } from "./shades.js";

// parts: [{id, title, value}]. scale: the value that fills the width. label: the numbers in words.
export function Stack({ parts, scale, label }) {
  const wide = (value) => `${(100 * value) / (scale || 1)}%`;
  return html`<div class="stack" role="img" aria-label=${label}>
    ${parts
      .filter((part) => part.value > 0)
      .map((part) => html`<b key=${part.id} style=${{ width: wide(part.value), ...shading(part.id) }} title=${`${part.title} ${part.value}`}>${letter(part.id)}</b>`)}
  </div>`;
}
