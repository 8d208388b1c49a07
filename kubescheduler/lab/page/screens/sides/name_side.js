import { editOrFault } from "../../api.js";
import { Dialog, closeDialog } from "../../components/dialog.js";
import { Faults } from "../../components/states.js";
import { html, useState } from "../../ui.js";

// Asks for another name of a scheduler.
export function NameSide({ side }) {
  const [name, setName] = useState(side.name);
  const [problems, setProblems] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await editOrFault({ do: "nameSide", side: side.id, name });
      closeDialog();
    } catch (fault) {
      if (!fault.problems) throw fault;
      setProblems(fault.problems);
    }
  };
  return html`<${Dialog} title=${`Rename ${side.name}`}>
    <form class="form" onSubmit=${submit}>
      <label class="field"><span>Name</span><input value=${name} onInput=${(event) => setName(event.target.value)} /></label>
      ${problems ? html`<${Faults} title="Not renamed" problems=${problems} />` : null}
      <div class="actions"><button class="primary">Rename</button></div>
    </form>
  </${Dialog}>`;
}
