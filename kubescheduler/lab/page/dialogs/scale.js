// How many pods a workload has.

import { EditForm, Field } from "../components/edit_form.js";
import { html } from "../ui.js";

export default function Scale({ pod }) {
  const build = ({ replicas }) => ({ do: "scale", pod, replicas: Number(replicas) });
  return html`<${EditForm} title=${`Scale the workload of ${pod}`} action="Scale" build=${build}>
    <${Field} label="Replicas" name="replicas" value="3" type="number" min="0" max="1000" required data-focus />
    <p class="quiet">More are copies of this pod and begin pending; fewer: the pending go first.</p>
  </${EditForm}>`;
}
