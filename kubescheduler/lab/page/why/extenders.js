// What was asked of each extender over HTTP, and what it answered.

import { DataTable } from "../components/data_table.js";
import { html } from "../ui.js";

// part: "filter" | "score". error: what ended the attempt, if an error did.
export function Extenders({ extenders, part, error }) {
  const verb = part === "filter" ? "filter" : "prioritize";
  const shown = extenders.filter((each) => each.request.verbs[verb]);
  if (!shown.length) return null;
  return html`<section class="extenders">
    <h4>Extenders</h4>
    ${shown.map((each) => html`<${Extender} extender=${each} part=${part} verb=${verb} ended=${error} />`)}
  </section>`;
}

function Extender({ extender, part, verb, ended }) {
  const { name, weight, request, failed, unresolvable, scores, error } = extender;
  const refused = Object.entries({ ...failed, ...unresolvable }).map(([node, reason]) => ({ node, reason }));
  const answer = part === "filter" ? failed : scores;
  return html`<article class="evidence">
    <h3 class="mono">${name}${part === "score" ? ` × ${weight}` : ""}</h3>
    ${error && html`<p class="refused">! ${error}</p>`}
    ${!error && !answer && html`<p class=${ended ? "refused" : "quiet"}>${unanswered(request, ended)}</p>`}
    ${part === "filter" && failed && !refused.length && html`<p>It gives no reason against any node.</p>`}
    ${part === "filter" && refused.length > 0 && html`<${DataTable} caption=${`Nodes that ${name} refuses`} columns=${REFUSED} rows=${refused} />`}
    ${part === "score" && scores && html`<${DataTable} caption=${`Scores of ${name}`} columns=${SCORES} rows=${scores} />`}
    <${Call} name=${name} verb=${request.verbs[verb]} request=${request} />
  </article>`;
}

function unanswered({ interested }, ended) {
  if (!interested) return "It is not asked about this pod, which asks for none of its resources.";
  return ended ? `! It gave no answer that counts; the attempt ended in: ${ended}` : "It was not asked.";
}

// How it is called, as the configuration says; the bytes that were sent are not kept.
function Call({ name, verb, request }) {
  return html`<details>
    <summary>How it is asked</summary>
    <p class="mono">POST ${name}/${verb}</p>
    <p>With the pod and the nodes that are left when its turn comes. ${request.ignorable ? "When it fails, it is passed over." : "When it fails, the attempt fails."}</p>
  </details>`;
}

const REFUSED = [
  { title: "Node", head: true, value: (row) => row.node },
  { title: "Reason", value: (row) => row.reason },
];
const SCORES = [
  { title: "Node", head: true, value: (row) => row.node },
  { title: "Score", number: true, value: (row) => row.score },
];
