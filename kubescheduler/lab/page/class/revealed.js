// The scheduler's answer beside the prediction.

import { useAnswer } from "../api.js";
import { Refusal } from "../components/evidence.js";
import { Answered } from "../components/states.js";
import { announce, side } from "../store.js";
import { html, useEffect } from "../ui.js";
import { isRight } from "./tally.js";

export function Revealed({ found, guess }) {
  const right = isRight(guess, found);
  const text = found.host ? `It goes to ${found.host}.` : "It fits nowhere.";
  useEffect(() => announce(`${right ? "Right." : "Not quite."} ${text}`), []);
  return html`<section class=${right ? "revealed right" : "revealed"} aria-label="The scheduler's answer">
    <p class="verdict"><strong>${right ? "✓ Right." : "✗ Not quite."}</strong> ${text}</p>
    ${found.message && html`<p class="quiet">${found.message}</p>`}
    ${guess && guess !== found.host && html`<${Difference} found=${found} guess=${guess} />`}
  </section>`;
}

function Difference({ found, guess }) {
  const mine = found.nodes.find((each) => each.name === guess);
  const best = found.nodes.find((each) => each.name === found.host);
  if (mine?.fits && best) return html`<${Scores} rules=${found.rules} mine=${mine} best=${best} />`;
  return html`<${Refusals} guess=${guess} />`;
}

function Refusals({ guess }) {
  const known = useAnswer("why", { side: side.value.id, node: guess }, { slot: "why" });
  return html`<${Answered} known=${known}>
    ${(answer) => answer.refusals.filter((each) => each.refuses !== false).map((each) => html`<${Refusal} refusal=${each} />`)}
  </${Answered}>`;
}

function Scores({ rules, mine, best }) {
  const product = (node, rule) => node.scores[rule.id]?.product ?? 0;
  const rows = rules.filter((rule) => product(mine, rule) !== product(best, rule));
  return html`<div class="table" tabindex="0" role="group" aria-label="Where the scores differ">
    <table>
      <caption>Points, times weight, where they differ</caption>
      <thead>
        <tr><th scope="col">Rule</th><th scope="col" class="number">${mine.name}</th><th scope="col" class="number">${best.name}</th></tr>
      </thead>
      <tbody>
        ${rows.map(
          (rule) => html`<tr>
            <th scope="row">${rule.title} <span class="quiet">× ${rule.weight}</span></th>
            <td class="number">${product(mine, rule)}</td>
            <td class="number">${product(best, rule)}</td>
          </tr>`,
        )}
        <tr><th scope="row">Total</th><td class="number"><b>${mine.total}</b></td><td class="number"><b>${best.total}</b></td></tr>
      </tbody>
    </table>
  </div>`;
}
