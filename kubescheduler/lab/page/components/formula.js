// How one score came about: what went in, the formula with the numbers in it, the scale, the weight.

import { html } from "../ui.js";
import { Facts, RuleLinks } from "./evidence.js";

// score: {rule, upstream, inputs, formula, raw, normalisation, normalised, weight, product, sentence?}
export function Formula({ score }) {
  const { rule, upstream, inputs, formula, raw, normalisation, normalised, weight, product, sentence } = score;
  return html`<article class="evidence formula">
    <h3>${rule}</h3>
    ${sentence && html`<p>${sentence}</p>`}
    <ol>
      <li><span class="quiet">raw</span> ${formula && html`<code>${formula}</code>`} <b>= ${raw}</b></li>
      <li><span class="quiet">normalised</span> ${normalisation ? html`<code>${normalisation}</code>` : html`<span class="quiet">as it is</span>`} <b>= ${normalised}</b></li>
      <li><span class="quiet">× weight</span> <code>${normalised} × ${weight}</code> <b>= ${product}</b></li>
    </ol>
    <${Facts} facts=${inputs} caption=${`What ${rule} looked at`} />
    <${RuleLinks} rule=${rule} upstream=${upstream} />
  </article>`;
}
