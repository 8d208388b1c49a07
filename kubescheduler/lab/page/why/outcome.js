// The decision in two lines.

import { side } from "../store.js";
import { html } from "../ui.js";

export function Outcome({ found }) {
  const { pod, host, nominated, message, error, fits, total, notes } = found;
  return html`<header class="outcome">
    <h2>
      <span class="mono">${pod}</span>
      ${
        host
          ? html` <span class="fits">✓ goes to <strong>${host}</strong></span>`
          : html` <span class="refused">${error ? "! the attempt failed" : "✗ stays pending"}</span>`
      }
    </h2>
    <p class="quiet">
      ${side.value.name || side.value.release}: ${
        error
          ? `an error ended the attempt, which says nothing of whether nodes fit: ${error}`
          : `${fits} of ${total} nodes fit${nominated ? `; nominated to ${nominated}` : ""}.${host ? "" : ` ${message}`}`
      }
    </p>
    ${notes.map((text) => html`<p class="quiet">${text}</p>`)}
  </header>`;
}
