// One pod as every side decides it: the best nodes with their totals, side by side.

import { useAnswer } from "../../api.js";
import { Answered } from "../../components/states.js";
import { html } from "../../ui.js";

const BEST = 5;

function Decision({ pod, side }) {
  const wanted = { side: side.id, pod, from: 0, to: BEST, order: "rank" };
  const known = useAnswer("decision", wanted, { slot: `beside ${pod} ${side.id}` });
  return html`<section class="pod-decision" aria-label=${`${pod} as ${side.name} decides it`}>
    <h3>${side.name}</h3>
    <${Answered} known=${known}>
      ${(answer) => html`
        ${answer.host ? null : html`<p class="refused">${answer.message}</p>`}
        <ol>
          ${answer.nodes
            .filter((row) => row.fits)
            .map(
              (row) => html`<li class=${row.chosen ? "chosen" : ""}>
                <span>${row.name}${row.chosen ? " ✓" : ""}</span> <span class="number">${row.total ?? "–"}</span>
              </li>`,
            )}
        </ol>
      `}
    </${Answered}>
  </section>`;
}

export function PodDecisions({ pod, sides }) {
  return html`<div class="pod-decisions">${sides.map((side) => html`<${Decision} key=${side.id} pod=${pod} side=${side} />`)}</div>`;
}
