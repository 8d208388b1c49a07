// What a node has to give.

import { useAnswer } from "../api.js";
import { Dialog } from "../components/dialog.js";
import { EditForm, Field } from "../components/edit_form.js";
import { Loading } from "../components/states.js";
import { side } from "../store.js";
import { html } from "../ui.js";

export default function Resize({ name }) {
  const known = useAnswer("cluster", { side: side.value.id, from: 0, to: 20, find: name }, { slot: "resize" });
  const node = known.answer?.nodes.find((each) => each.name === name);
  if (!node) return html`<${Dialog} title=${`Resize ${name}`}><${Loading} text="Reading it" /></${Dialog}>`;
  const build = (values) => ({ do: "resize", node: name, resources: changed(node.resources, values) });
  return html`<${EditForm} title=${`Resize ${name}`} action="Resize" build=${build}>
    <p class="quiet">Allocatable, as in the node's status.</p>
    <div class="row">
      ${node.resources.map((each) => html`<${Field} key=${each.name} label=${each.name} name=${each.name} value=${each.text.allocatable} />`)}
    </div>
    <div class="row">
      <${Field} label="Another resource" name="other" hint="nvidia.com/gpu" />
      <${Field} label="How much of it" name="amount" />
    </div>
  </${EditForm}>`;
}

function changed(resources, { other, amount, ...values }) {
  const before = Object.fromEntries(resources.map((each) => [each.name, each.text.allocatable]));
  const more = other.trim() ? { [other.trim()]: amount.trim() } : {};
  return { ...Object.fromEntries(Object.entries(values).filter(([key, value]) => value !== before[key])), ...more };
}
