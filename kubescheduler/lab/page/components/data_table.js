// A table of data: scrolls by itself on a narrow window, reachable by the keyboard.

import { html } from "../ui.js";

// columns: [{title, value(row), number?, head?, unseen?}]; rows: records; key(row): what tells rows apart.
export function DataTable({ caption, columns, rows, rowKey, rowClass }) {
  return html`<div class="table" tabindex="0" role="group" aria-label=${caption}>
    <table>
      <caption class="unseen">${caption}</caption>
      <thead>
        <tr>${columns.map((each) => html`<th scope="col" class=${each.number ? "number" : ""}>${each.title}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map((row, at) => html`<tr key=${rowKey?.(row) ?? at} class=${rowClass?.(row)}>${columns.map((each) => cell(each, row))}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

function cell({ value, number, head }, row) {
  if (head) return html`<th scope="row">${value(row)}</th>`;
  return html`<td class=${number ? "number" : ""}>${value(row)}</td>`;
}
