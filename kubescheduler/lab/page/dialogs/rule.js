// What a rule does, in the words of its documentation.

import { useAnswer } from "../api.js";
import { Dialog } from "../components/dialog.js";
import { Answered } from "../components/states.js";
import { html } from "../ui.js";

export default function Rule({ rule, release }) {
  const known = useAnswer("rule", { release, rule }, { slot: "rule" });
  return html`<${Dialog} title=${`${rule} in ${release}`}>
    <${Answered} known=${known} text="Reading its page">
      ${(answer) => html`
        <div class="prose">${answer.text.split(/\n{2,}/).map((part) => html`<p>${coded(part)}</p>`)}</div>
        ${answer.upstream && html`<p class="quiet">upstream: <code>${answer.upstream}</code></p>`}
      `}
    </${Answered}>
  </${Dialog}>`;
}

// Text with `code` in it.
function coded(text) {
  return text.split(/`+/).map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));
}
