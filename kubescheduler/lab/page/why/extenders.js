// What was asked of each extender over HTTP, and what it answered.

import { DataTable } from "../components/data_table.js";
import { html } from "../ui.js";

// part: "filter" | "score"
export function Extenders({ extenders, part }) {
  const shown = extenders.filter((each) => each.error || (part === "filter" ? each.failed : each.scores));
  if (!shown.length) return null;
  return html`<section class="extenders">
    <h4>Extenders</h4>
    ${shown.map((each) => html`<${Extender} extender=${each} part=${part} />`)}
  </section>`;
}

function Extender({ extender, part }) {
  const { name, weight, request, nodes, failed, unresolvable, scores, error } = extender;
  const refused = Object.entries({ ...failed, ...unresolvable }).map(([node, reason]) => ({ node, reason }));
  return html`<article class="evidence">
    <h3 class="mono">${name}${part === "score" ? ` × ${weight}` : ""}</h3>
    ${error && html`<p class="refused">! ${error}</p>`}
    ${part === "filter" && nodes && html`<p>It lets ${Array.isArray(nodes) ? nodes.length : nodes} nodes pass.</p>`}
    ${part === "filter" && refused.length > 0 && html`<${DataTable} caption=${`Nodes that ${name} refuses`} columns=${REFUSED} rows=${refused} />`}
    ${part === "score" && scores && html`<${DataTable} caption=${`Scores of ${name}`} columns=${SCORES} rows=${scores} />`}
    ${request && html`<details><summary>Request</summary><pre>${asText(request)}</pre></details>`}
  </article>`;
}

const REFUSED = [
  { title: "Node", head: true, value: (row) => row.node },
  { title: "Reason", value: (row) => row.reason },
];
const SCORES = [
  { title: "Node", head: true, value: (row) => row.node },
  { title: "Score", number: true, value: (row) => row.score },
];

function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
