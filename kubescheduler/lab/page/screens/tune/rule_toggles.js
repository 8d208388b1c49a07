// A box to tick for each check or plugin; what cannot be changed says why.

import { html } from "../../ui.js";
import { RuleBox } from "./rule_box.js";

function Toggle({ row, hold }) {
  const point = row.points?.includes("filter") ? "filter" : undefined;
  return html`<li>
    <label title=${row.text}>
      <${RuleBox} row=${row} point=${point} hold=${hold} />
      <span>${row.title}${row.fixed ? html` <small class="quiet">${row.fixed}</small>` : null}</span>
    </label>
  </li>`;
}

// open: at first; a narrow window begins with the ranking near.
export function RuleToggles({ title, rows, hold, open = false }) {
  if (!rows.length) return null;
  const on = rows.filter((row) => row.on).length;
  return html`<details class="toggles" open=${open}>
    <summary>${title} <span class="quiet">${on} of ${rows.length} on</span></summary>
    <ul>
      ${rows.map((row) => html`<${Toggle} key=${row.id} row=${row} hold=${hold} />`)}
    </ul>
  </details>`;
}
