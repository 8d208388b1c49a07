// An object of the cluster as YAML, to be changed.

import { live, useAnswer } from "../api.js";
import { Dialog } from "../components/dialog.js";
import { EditForm } from "../components/edit_form.js";
import { Editor, placed } from "../components/editor.js";
import { Faults, Loading } from "../components/states.js";
import { html, useState } from "../ui.js";

// kind: "pod" | "node"; name: the node's name or the pod's namespace/name
export default function EditYaml({ kind, name }) {
  const known = useAnswer(kind, kind === "pod" ? { key: name } : { name }, { slot: "yaml" });
  const [text, setText] = useState(null);
  const title = `${kind === "pod" ? "Pod" : "Node"} ${name}`;
  if (known.problems) return html`<${Dialog} title=${title}><${Faults} problems=${known.problems} /></${Dialog}>`;
  if (!known.answer) return html`<${Dialog} title=${title}><${Loading} text="Reading it" /></${Dialog}>`;
  const editor = (problems) => html`<${Editor} label=${title} value=${text ?? known.answer.yaml} onInput=${setText} readOnly=${!live()} problems=${problems.map(placed)} />`;
  if (!live()) return html`<${Dialog} title=${title} wide>${editor([])}</${Dialog}>`;
  const build = () => ({ do: "editYaml", kind, key: name, text: text ?? known.answer.yaml });
  return html`<${EditForm} title=${title} action="Apply" build=${build} wide>${editor}</${EditForm}>`;
}
