// Taints of a node: one more, or one less.

import { edit, useAnswer } from "../api.js";
import { EditForm, Field, Select } from "../components/edit_form.js";
import { IconButton } from "../components/icons.js";
import { side } from "../store.js";
import { html } from "../ui.js";

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export default function Taint({ name }) {
  const known = useAnswer("cluster", { side: side.value.id, from: 0, to: 20, find: name }, { slot: "taint" });
  const taints = known.answer?.nodes.find((each) => each.name === name)?.taints ?? [];
  const build = ({ key, value, effect }) => ({
    do: "taint",
    node: name,
    taint: `${key.trim()}${value.trim() ? `=${value.trim()}` : ""}:${effect}`,
  });
  return html`<${EditForm} title=${`Taint ${name}`} action="Add the taint" build=${build}>
    ${taints.length > 0 && html`<${There} name=${name} taints=${taints} />`}
    <div class="row">
      <${Field} label="Key" name="key" value="dedicated" required data-focus />
      <${Field} label="Value" name="value" hint="may be empty" />
      <${Select} label="Effect" name="effect" choices=${EFFECTS} value="NoSchedule" />
    </div>
  </${EditForm}>`;
}

function There({ name, taints }) {
  const remove = (taint) => () => edit({ do: "untaint", node: name, key: taint.split(/[=:]/)[0] });
  return html`<ul class="listed" aria-label="Taints it has">
    ${taints.map(
      (taint) => html`<li><code>${taint}</code> <${IconButton} name="close" label=${`Remove ${taint}`} onClick=${remove(taint)} /></li>`,
    )}
  </ul>`;
}
