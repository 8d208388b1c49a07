// More nodes like one.

import { EditForm, Field } from "../components/edit_form.js";
import { html } from "../ui.js";

export default function CloneNode({ name }) {
  const build = ({ count }) => ({ do: "clone", node: name, count: Number(count) });
  return html`<${EditForm} title=${`Clone ${name}`} action="Clone" build=${build}>
    <${Field} label="How many more" name="count" value="1" type="number" min="1" max="1000" required data-focus />
    <p class="quiet">With its size, labels and taints, and without its pods.</p>
  </${EditForm}>`;
}
