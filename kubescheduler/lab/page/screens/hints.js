// What would make the pod fit, or go to a node: each a change that was tried by deciding, with a button that makes it.

import { useAnswer } from "../api.js";
import { Answered, Empty } from "../components/states.js";
import { asked, focusedNode, side, state } from "../store.js";
import { html, useState, useSheet, useWhenNew } from "../ui.js";
import { HintList } from "./hints/hint_list.js";
import { NodeField } from "./hints/node_field.js";

export const title = "Hints";

useSheet("style/hints.css");

const TOP = 10;

function Goal({ node, setNode, pairs, setPairs }) {
  const anywhere = node === null;
  return html`<form class="toolbar" onSubmit=${(event) => event.preventDefault()} aria-label="What is wanted">
    <fieldset class="segments">
      <legend class="unseen">Where the pod is wanted</legend>
      <label>
        <input type="radio" name="goal" checked=${anywhere} onChange=${() => setNode(null)} /><span>Fits anywhere</span>
      </label>
      <label>
        <input type="radio" name="goal" checked=${!anywhere} onChange=${() => setNode(focusedNode.value ?? "")} /><span>On a node</span>
      </label>
    </fieldset>
    ${anywhere ? null : html`<${NodeField} node=${node} choose=${setNode} />`}
    <label class="check"><input type="checkbox" checked=${pairs} onChange=${(event) => setPairs(event.target.checked)} /> two changes at a time</label>
  </form>`;
}

export default function Hints() {
  const id = side.value?.id;
  const pod = asked.value?.key ?? null;
  const [node, setNode] = useState(null);
  const [pairs, setPairs] = useState(true);
  const [top, setTop] = useState(TOP);
  useWhenNew(`${pod} ${id} ${node}`, () => setTop(TOP));
  const wanted = { side: id, top, pairs, ...(node ? { node } : {}) };
  const known = useAnswer("hints", wanted, { when: Boolean(id && pod && node !== "") });
  if (!pod) {
    return html`<${Empty} title="No pod is asked about">
      <p>
        ${state.value?.pendingTotal
          ? "Choose one of the pending pods; what would make it fit stands here."
          : "Every pod has a node. Add a pod that does not fit, or ask what would bring one to another node."}
      </p>
    </${Empty}>`;
  }
  return html`<div class="hints">
    <h2>What would make <b class="name">${pod}</b> ${node ? html`go to <b>${node}</b>` : "fit"}?</h2>
    <${Goal} node=${node} setNode=${setNode} pairs=${pairs} setPairs=${setPairs} />
    ${node === ""
      ? html`<p class="quiet">Name the node that the pod is to go to.</p>`
      : html`<${Answered} known=${known} text="Searching, each change tried by deciding anew">
          ${(answer) => html`<${HintList} answer=${answer} more=${() => setTop(top + TOP)} top=${top} />`}
        </${Answered}>`}
  </div>`;
}
