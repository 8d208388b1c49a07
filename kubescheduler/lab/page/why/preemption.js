// Which nodes room could be made on, at whose cost, and by which rule one of them was taken.

import { DataTable } from "../components/data_table.js";
import { classes, html } from "../ui.js";

export function Preemption({ preemption }) {
  if (!preemption) return null;
  const { text, candidates, rules } = preemption;
  return html`
    ${text && html`<p>${text}</p>`}
    ${candidates.length > 0 && html`<${DataTable} caption="Candidates" columns=${COLUMNS} rows=${candidates} rowKey=${(row) => row.node} rowClass=${(row) => (row.chosen ? "chosen" : "")} />`}
    ${
      rules.length > 0 &&
      html`<h4>Which candidate: the rules in their order</h4>
        <ol class="ladder">
          ${rules.map(
            (rule) => html`<li class=${classes(rule.decided && "decided")}>
              <p>${rule.decided ? html`<strong>✓ ${rule.text}</strong> decided` : rule.text}</p>
              <${Compared} rule=${rule} />
            </li>`,
          )}
        </ol>`
    }
  `;
}

// What the rule compared, by node; one node alone is not compared.
function Compared({ rule }) {
  if (rule.compared.length < 2) return html`<p class="quiet">left: ${rule.left.join(", ")}</p>`;
  return html`<ul class="compared">
    ${rule.compared.map(
      ({ node, number, left }) => html`<li class=${left ? "" : "quiet"}>
        <span class=${left ? "fits" : ""} aria-hidden="true">${left ? "✓" : "–"}</span> ${node} <b>${number}</b><span class="unseen">${left ? ", left" : ", out"}</span>
      </li>`,
    )}
  </ul>`;
}

const COLUMNS = [
  { title: "Node", head: true, value: (row) => `${row.chosen ? "✓ " : ""}${row.node}` },
  { title: "Pods that would go", value: (row) => html`<${Victims} victims=${row.victims} />` },
];

function Victims({ victims }) {
  return html`<ul>
    ${victims.map(
      ({ key, priority, pdbViolated }) => html`<li>
        ${key} <span class="quiet">priority ${priority}</span>
        ${pdbViolated && html` <span class="chip refuse">! against its disruption budget</span>`}
      </li>`,
    )}
  </ul>`;
}
