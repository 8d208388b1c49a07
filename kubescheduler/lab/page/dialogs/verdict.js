// What if the pod ran on that node: fits, or every refusal with its evidence.

import { edit, live, useAnswer } from "../api.js";
import { showWhy } from "../cluster/pod_actions.js";
import { closeDialog, Dialog } from "../components/dialog.js";
import { Refusal } from "../components/evidence.js";
import { Answered } from "../components/states.js";
import { asked, side } from "../store.js";
import { html } from "../ui.js";

export default function Verdict({ pod, node }) {
  const known = useAnswer("whatif", { side: side.value.id, node, pod }, { slot: "verdict" });
  return html`<${Dialog} title=${`${pod} on ${node}?`} wide>
    <${Answered} known=${known}>
      ${(answer) => html`<${Said} answer=${answer} pod=${pod} node=${node} />`}
    </${Answered}>
  </${Dialog}>`;
}

function Said({ answer, pod, node }) {
  const bind = () => {
    closeDialog();
    edit({ do: "bind", pod, node });
  };
  const why = () => {
    closeDialog();
    showWhy(node);
  };
  return html`
    <p class=${answer.fits ? "fits" : "refused"}>
      <strong>${answer.fits ? "✓ It fits." : "✗ The scheduler would not put it there."}</strong>
    </p>
    ${answer.refusals.map((each) => html`<${Refusal} refusal=${each} />`)}
    <p class="quiet">${answer.host ? `Left to itself, the scheduler puts it on ${answer.host}.` : "It fits on no node now."}</p>
    <p class="actions">
      ${
        live() &&
        html`<button type="button" class=${answer.fits ? "primary" : ""} onClick=${bind}>
          ${answer.fits ? "Bind it there" : "Bind it there anyway"}
        </button>`
      }
      ${asked.value?.key === pod && html`<button type="button" onClick=${why}>See the whole decision</button>`}
      <button type="button" onClick=${closeDialog}>Leave it</button>
    </p>
  `;
}
