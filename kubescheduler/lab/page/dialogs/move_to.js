// The keyboard's form of a drag: the nodes as a list, with what the scheduler says of the one in focus.

import { edit, useAnswer } from "../api.js";
import { closeDialog, Dialog } from "../components/dialog.js";
import { verdictText } from "../components/carried_pod.js";
import { Answered } from "../components/states.js";
import { rest, rove } from "../components/roving.js";
import { Find } from "../components/fields.js";
import { openLater } from "../dialogs.js";
import { side } from "../store.js";
import { classes, html, useState } from "../ui.js";

const MOST = 60;

// chosen(node, verdict): what a choice does instead of binding the pod there. node: where it is.
// silent: the scheduler's word is not shown.
export default function MoveTo({ pod, node = null, title = null, chosen = null, silent = false }) {
  const [find, setFind] = useState("");
  const [looked, look] = useState(null);
  const nodes = useAnswer("cluster", { side: side.value.id, from: 0, to: MOST, find, pod }, { slot: "move" });
  const verdict = useAnswer("whatif", { side: side.value.id, node: looked, pod }, { slot: "whatif", when: looked !== null && !silent });
  const current = verdict.answer?.node === looked ? verdict.answer : null;
  const take = (name) => {
    closeDialog();
    if (chosen) chosen(name, current);
    else if (current?.node === name && current.fits) edit({ do: "bind", pod, node: name });
    else openLater("verdict", { pod, node: name });
  };
  return html`<${Dialog} title=${title ?? `Move ${pod} to …`} onKeyDown=${enter}>
    <${Find} find=${find} onFind=${setFind} label="Find nodes by name" data-focus />
    <p class=${classes("verdict-line", current && (current.fits ? "fits" : "refused"))} role="status">
      ${current ? verdictText(current) : looked && !silent ? `${looked} …` : "The arrow keys walk through the nodes."}
    </p>
    <${Answered} known=${nodes}>
      ${(answer) => html`<${Nodes} answer=${answer} here=${node} silent=${silent} onLook=${look} onTake=${take} />`}
    </${Answered}>
  </${Dialog}>`;
}

// From anywhere else in the dialog the arrows lead into the list.
function enter(event) {
  const list = event.currentTarget.querySelector(".node-choices");
  if (!list || list.contains(event.target) || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  event.preventDefault();
  const parts = list.querySelectorAll("[data-rove]");
  parts[event.key === "ArrowDown" ? 0 : parts.length - 1].focus();
}

const VERDICTS = new Map([
  [true, ["✓", "fits", "fits"]],
  [false, ["✗", "refused", "does not fit"]],
]);

function Said({ fits }) {
  const [sign, name, text] = VERDICTS.get(fits) ?? [];
  return sign ? html`<span class=${`sign ${name}`}><span aria-hidden="true">${sign}</span><span class="unseen">${text}</span></span> ` : null;
}

function Nodes({ answer, here, silent, onLook, onTake }) {
  if (!answer.total) return html`<p class="quiet">No node has that in its name.</p>`;
  return html`<ul class="node-choices" aria-label="Nodes" onKeyDown=${rove} onFocusIn=${rest}>
      ${answer.nodes.map(
        (node, at) => html`<li key=${node.name}>
          <button
            type="button"
            data-rove
            tabindex=${at === 0 ? 0 : -1}
            onFocus=${() => onLook(node.name)}
            onPointerEnter=${() => onLook(node.name)}
            onClick=${() => onTake(node.name)}
            aria-disabled=${node.name === here}
          >
            ${silent ? null : html`<${Said} fits=${node.fits} />`}<strong>${node.name}</strong> <span class="quiet">${node.zone}${node.name === here ? ", it is here" : ""}</span>
          </button>
        </li>`,
      )}
    </ul>
    ${answer.total > MOST && html`<p class="quiet">and ${answer.total - MOST} more: find them by name</p>`}`;
}
