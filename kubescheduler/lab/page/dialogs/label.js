// Labels of a node: set or removed.

import { edit, useAnswer } from "../api.js";
import { EditForm, Field } from "../components/edit_form.js";
import { IconButton } from "../components/icons.js";
import { side } from "../store.js";
import { html } from "../ui.js";

export default function Label({ name }) {
  const known = useAnswer("cluster", { side: side.value.id, from: 0, to: 20, find: name }, { slot: "label" });
  const labels = Object.entries(known.answer?.nodes.find((each) => each.name === name)?.labels ?? {});
  const remove = (key) => () => edit({ do: "label", node: name, key, value: null });
  const build = ({ key, value }) => ({ do: "label", node: name, key: key.trim(), value: value.trim() });
  return html`<${EditForm} title=${`Label ${name}`} action="Set the label" build=${build}>
    <ul class="listed" aria-label="Labels it has">
      ${labels.map(
        ([key, value]) => html`<li>
          <code>${key}=${value}</code> <${IconButton} name="close" label=${`Remove ${key}`} onClick=${remove(key)} />
        </li>`,
      )}
    </ul>
    <div class="row">
      <${Field} label="Key" name="key" required data-focus choices=${labels.map(([key]) => key)} />
      <${Field} label="Value" name="value" />
    </div>
  </${EditForm}>`;
}
