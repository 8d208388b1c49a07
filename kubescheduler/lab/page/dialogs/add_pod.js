// One pod or several of a form.

import { EditForm, Field, pairs } from "../components/edit_form.js";
import { html } from "../ui.js";

export default function AddPod() {
  const build = ({ namespace, name, cpu, memory, priority, labels, count }) => ({
    do: "addPod",
    namespace: namespace.trim() || "default",
    name: name.trim(),
    cpu,
    memory,
    priority: Number(priority) || 0,
    labels: pairs(labels),
    count: Number(count),
  });
  return html`<${EditForm} title="Add pods" action="Add" build=${build}>
    <div class="row">
      <${Field} label="Name" name="name" value="web" required data-focus />
      <${Field} label="Namespace" name="namespace" value="default" />
      <${Field} label="How many" name="count" value="1" type="number" min="1" max="500" required />
    </div>
    <div class="row">
      <${Field} label="cpu request" name="cpu" value="500m" hint="empty for none" />
      <${Field} label="memory request" name="memory" value="512Mi" hint="empty for none" />
      <${Field} label="Priority" name="priority" value="0" type="number" />
    </div>
    <${Field} label="Labels" name="labels" hint="app=web, tier=front" />
    <p class="quiet">Affinity, tolerations and the like: add it, then “Edit YAML …” in its menu; or add from YAML.</p>
  </${EditForm}>`;
}
