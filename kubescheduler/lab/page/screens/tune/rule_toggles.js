// A box to tick for each check or plugin; what cannot be changed says why.

import { editInSlot, live } from "../../api.js";
import { side } from "../../store.js";
import { html } from "../../ui.js";

function Toggle({ row, hold }) {
  const change = (event) => {
    hold();
    const point = row.points?.includes("filter") ? "filter" : undefined;
    const wanted = { do: "toggle", side: side.value.id, rule: row.id, point, on: event.target.checked };
    editInSlot(wanted, { slot: "toggle" }).then((answer) => answer || (event.target.checked = row.on));
  };
  return html`<li>
    <label title=${row.text}>
      <input type="checkbox" checked=${row.on} disabled=${!live() || Boolean(row.fixed)} onChange=${change} />
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
