// Any objects from manifests.

import { EditForm } from "../components/edit_form.js";
import { Editor, placed } from "../components/editor.js";
import { html, useState } from "../ui.js";

const START = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: main
    image: web
    resources:
      requests:
        cpu: 500m
        memory: 512Mi
`;

export default function AddYaml() {
  const [text, setText] = useState(START);
  const build = () => ({ do: "addYaml", text });
  return html`<${EditForm} title="Add from YAML" action="Add" build=${build} wide>
    ${(problems) => html`<p class="quiet">Pods, nodes, workloads, volumes, budgets: what kubectl would apply. Several documents are parted by “---”.</p>
    <${Editor} label="Manifests" value=${text} onInput=${setText} problems=${problems.map(placed)} />`}
  </${EditForm}>`;
}
