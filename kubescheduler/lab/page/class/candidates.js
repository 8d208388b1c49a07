// The nodes in large type: drop targets for a prediction; after it, with rank or refusal.

import { Bar } from "../components/bar.js";
import { carried } from "../drag.js";
import { classes, html, useComputed } from "../ui.js";

export function Candidates({ answer, guess, found, onPredict }) {
  const ranks = new Map((found?.nodes ?? []).map((node) => [node.name, node]));
  return html`<ul class="candidates" aria-label="Nodes">
      ${answer.nodes.map((node) => {
        const said = ranks.get(node.name);
        return html`<${Candidate} key=${node.name} node=${node} said=${said} guessed=${guess === node.name} host=${found?.host} onPredict=${onPredict} />`;
      })}
    </ul>
    ${answer.total > answer.nodes.length && html`<p class="quiet">and ${answer.total - answer.nodes.length} more: choose them by name</p>`}`;
}

function Candidate({ node, said, guessed, host, onPredict }) {
  const over = useComputed(() => carried.value?.node === node.name).value;
  const chosen = host === node.name;
  return html`<li class=${classes("node", "candidate", over && "target", guessed && "guessed", chosen && "goes")} data-node=${onPredict ? node.name : undefined}>
    <div class="node-head">
      <strong>${node.name}</strong>
      ${
        onPredict
          ? html`<button type="button" class="plain" aria-pressed=${guessed} onClick=${() => onPredict(node.name)}>
              ${guessed ? "your prediction" : "here"}<span class="unseen">: ${node.name}</span>
            </button>`
          : html`<span>${mark(said, chosen)}</span>`
      }
    </div>
    ${node.resources.filter((each) => each.ghost > 0 && each.name !== "pods").map((each) => html`<${Bar} resource=${each} />`)}
    <div class="chips">
      ${guessed && !onPredict && html`<span class="chip accent">your prediction</span>`}
      ${node.cordoned && html`<span class="chip warn">‖ cordoned</span>`}
      ${node.conditions.map((text) => html`<span class="chip refuse">! ${text}</span>`)}
      ${node.taints.map((text) => html`<span class="chip warn">${text}</span>`)}
      <span class="chip">${node.zone || "no zone"}</span>
    </div>
    ${said && !said.fits && html`<p class="refused">✗ ${Object.values(said.refused).flat().join("; ")}</p>`}
  </li>`;
}

function mark(said, chosen) {
  if (chosen) return html`<span class="fits">✓ ${said?.total ?? ""}</span>`;
  if (!said) return "";
  return said.fits ? html`<span class="quiet">${said.rank}. with ${said.total}</span>` : "";
}
