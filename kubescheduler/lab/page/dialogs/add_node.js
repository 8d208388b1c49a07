// A node of a form.

import { EditForm, Field, items, pairs } from "../components/edit_form.js";
import { state } from "../store.js";
import { html } from "../ui.js";

export default function AddNode() {
  const build = ({ name, cpu, memory, pods, zone, labels, taints }) => ({
    do: "addNode",
    name: name.trim(),
    cpu,
    memory,
    pods: Number(pods),
    zone: zone.trim(),
    labels: pairs(labels),
    taints: items(taints),
  });
  return html`<${EditForm} title="Add a node" action="Add the node" build=${build}>
    <${Field} label="Name" name="name" value=${`node-${state.value.nodesTotal + 1}`} required data-focus />
    <div class="row">
      <${Field} label="cpu" name="cpu" value="4" hint="4 or 3500m" required />
      <${Field} label="memory" name="memory" value="16Gi" hint="16Gi" required />
      <${Field} label="pods" name="pods" value="110" type="number" min="0" required />
      <${Field} label="Zone" name="zone" hint="may be empty" />
    </div>
    <${Field} label="Labels" name="labels" hint="disk=ssd, team=data" />
    <${Field} label="Taints" name="taints" hint="dedicated=gpu:NoSchedule" />
  </${EditForm}>`;
}
