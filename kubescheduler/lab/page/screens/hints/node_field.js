// A field for the name of a node, with the names that the cluster has for what is typed.

import { useAnswer } from "../../api.js";
import { side } from "../../store.js";
import { html, useEffect, useId, useState, useWhenNew } from "../../ui.js";

const OFFERED = 40;

export function NodeField({ node, choose, label = "Node" }) {
  const [text, setText] = useState(node ?? "");
  const list = useId();
  const found = useAnswer("cluster", { side: side.value?.id, from: 0, to: OFFERED, find: text }, { slot: "nodes" });
  const names = (found.answer?.nodes ?? []).map((each) => each.name);
  useWhenNew(node, () => setText(node ?? ""));
  useEffect(() => {
    if (text !== node && names.includes(text)) choose(text);
  }, [text, names.join(" ")]);
  return html`<label class="node-field">
    <span class="unseen">${label}</span>
    <input
      type="search"
      list=${list}
      value=${text}
      placeholder="name of a node"
      autocomplete="off"
      spellcheck="false"
      onInput=${(event) => setText(event.target.value)}
      onChange=${(event) => choose(event.target.value.trim())}
    />
    <datalist id=${list}>${names.map((name) => html`<option value=${name} />`)}</datalist>
  </label>`;
}
