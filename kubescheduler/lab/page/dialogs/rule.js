// What a rule does, in the words of the documentation.

import { useAnswer } from "../api.js";
import { DataTable } from "../components/data_table.js";
import { Dialog } from "../components/dialog.js";
import { Answered } from "../components/states.js";
import { Markdown } from "../markdown/markdown.js";
import { html } from "../ui.js";

export default function Rule({ rule, release }) {
  const known = useAnswer("rule", { release, rule }, { slot: "rule" });
  return html`<${Dialog} title=${rule} wide>
    <${Answered} known=${known} text="Reading its page">${(answer) => html`<${Page} page=${answer} />`}</${Answered}>
  </${Dialog}>`;
}

function Page({ page }) {
  const reasons = Object.entries(page.reasons).map(([text, code]) => ({ text, code }));
  return html`<div class="prose">
    <p class="quiet">A ${page.kind} of ${page.releases.join(" and ")}.</p>
    <${Markdown} text=${page.text} />
    ${page.facts.map((text) => html`<p>${text}</p>`)}
    ${Object.entries(page.differs).map(([other, text]) => html`<p><strong>In ${other}:</strong> ${text}</p>`)}
    ${reasons.length > 0 && html`<h3>Why it refuses</h3><${DataTable} caption="Reasons" columns=${REASONS} rows=${reasons} />`}
    <p class="quiet">The documentation has this in <code>${page.page}</code>.</p>
  </div>`;
}

const REASONS = [
  { title: "Reason", value: (row) => html`<code>${row.text}</code>` },
  { title: "Code", value: (row) => row.code },
];
