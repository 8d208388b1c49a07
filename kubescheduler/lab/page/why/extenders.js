// What was asked of each extender over HTTP, and what it answered.

import { useAnswer } from "../api.js";
import { DataTable } from "../components/data_table.js";
import { Answered } from "../components/states.js";
import { side } from "../store.js";
import { html, useState } from "../ui.js";

// part: "filter" | "score". error: what ended the attempt, if an error did.
export function Extenders({ extenders, part, error }) {
  const verb = part === "filter" ? "filter" : "prioritize";
  const shown = extenders.map((each, at) => ({ ...each, at })).filter((each) => each.request.verbs[verb]);
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
    <${Call} key=${`${extender.at} ${verb}`} extender=${extender} verb=${verb} />
  </article>`;
}

function unanswered({ interested }, ended) {
  if (!interested) return "It is not asked about this pod, which asks for none of its resources.";
  return ended ? `! It gave no answer that counts; the attempt ended in: ${ended}` : "It was not asked.";
}

// What was posted to it, asked for when it is opened.
function Call({ extender, verb }) {
  const [open, setOpen] = useState(false);
  return html`<details open=${open} onToggle=${(event) => setOpen(event.target.open)}>
    <summary>What it is sent</summary>
    ${open && html`<${Request} at=${extender.at} verb=${verb} />`}
    <p>${extender.request.ignorable ? "When it fails, it is passed over." : verb === "filter" ? "When it fails, the attempt fails." : "When it fails, it gives no points."}</p>
  </details>`;
}

function Request({ at, verb }) {
  const known = useAnswer("extenderRequest", { side: side.value.id, extender: at, verb }, { slot: `request ${at} ${verb}` });
  return html`<${Answered} known=${known} text="Writing the request again">
    ${({ why, request }) => (request ? html`<${Posted} request=${request} />` : html`<p class="quiet">Nothing: ${why}.</p>`)}
  </${Answered}>`;
}

function Posted({ request }) {
  const { method, url, headers, nodes, bytes, body, cut } = request;
  return html`<p class="mono">${method} ${url}</p>
    ${headers.map((each) => html`<p class="mono quiet">${each}</p>`)}
    <p>The pod and ${nodes} ${nodes === 1 ? "node" : "nodes"}, ${bytes.toLocaleString("en")} bytes${cut ? "; this is its beginning" : ""}, here in lines:</p>
    <pre class="sent" tabindex="0" role="region" aria-label=${`Body of ${method} ${url}`}>${body}${cut ? "\n…" : ""}</pre>`;
}

const REFUSED = [
  { title: "Node", head: true, value: (row) => row.node },
  { title: "Reason", value: (row) => row.reason },
];
const SCORES = [
  { title: "Node", head: true, value: (row) => row.node },
  { title: "Score", number: true, value: (row) => row.score },
];
