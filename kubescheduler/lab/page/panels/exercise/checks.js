// Check, and each check with what it found.

import { live } from "../../api.js";
import { html } from "../../ui.js";

const SIGNS = new Map([
  [true, ["✓", "passed", "fits"]],
  [false, ["✗", "failed", "refused"]],
  [null, ["○", "not checked yet", "quiet"]],
]);

function Check({ check }) {
  const [sign, said, name] = SIGNS.get(check.passed ?? null);
  return html`<li class="check-row">
    <span class=${`sign ${name}`} aria-hidden="true">${sign}</span>
    <span><span class="unseen">${said}: </span>${check.text}${check.scenario ? html` <span class="chip">${check.scenario}</span>` : null}
      ${check.detail ? html`<small class=${name}>${check.detail}</small>` : null}${check.remark ? html`<small class="quiet">${check.remark}</small>` : null}
    </span>
  </li>`;
}

export function Checks({ exercise, checking, check }) {
  const failed = exercise.checks.filter((each) => each.passed === false).length;
  return html`<section aria-labelledby="checks-title" class="checks" aria-busy=${checking}>
    <h3 id="checks-title">Checks</h3>
    ${(exercise.problems ?? []).map((text) => html`<p class="refused"><span aria-hidden="true">✗</span> ${text}</p>`)}
    ${(exercise.notes ?? []).map((text) => html`<p class="quiet">${text}</p>`)}
    ${exercise.checks.length ? html`<ul>${exercise.checks.map((each) => html`<${Check} check=${each} />`)}</ul>` : null}
    <div class="actions">
      ${live() ? html`<button type="button" class="primary" disabled=${checking} onClick=${check}>${checking ? "Checking …" : "Check"}</button>` : null}
      <p role="status" class="verdict">
        ${exercise.passed
          ? html`<span class="fits"><span aria-hidden="true">✓</span> Solved</span>`
          : failed
            ? html`<span class="refused"><span aria-hidden="true">✗</span> ${failed} ${failed === 1 ? "check fails" : "checks fail"}</span>`
            : null}
      </p>
    </div>
  </section>`;
}
