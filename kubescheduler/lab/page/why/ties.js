// Nodes that share the best total.

import { html } from "../ui.js";

const MOST = 12;

export function Ties({ ties }) {
  if (!ties) return null;
  const total = ties.total ?? ties.nodes.length;
  const named = ties.nodes.slice(0, MOST);
  return html`<div class="note">
    <p><strong>= ${total} nodes share the highest total:</strong> ${named.join(", ")}${total > named.length ? ` and ${total - named.length} more` : ""}.</p>
    ${ties.text && html`<p>${ties.text}</p>`}
  </div>`;
}
