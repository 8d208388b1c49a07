// A release that cannot read what the side is described by: why, and what migrating makes of it instead.

import { editOrFault } from "../api.js";
import { closeDialog, Dialog } from "../components/dialog.js";
import { Faults } from "../components/states.js";
import { html, useState } from "../ui.js";

export default function Migrated({ side, release, problems }) {
  const [found, setFound] = useState(null);
  const migrate = async () => {
    try {
      await editOrFault({ do: "release", side, release, migrated: true });
      closeDialog();
    } catch (fault) {
      if (!fault.problems) throw fault;
      setFound(fault.problems);
    }
  };
  return html`<${Dialog} title=${`Release ${release} cannot read this`}>
    <ul class="problems">${problems.map((text) => html`<li><span class="sign" aria-hidden="true">✗</span> ${text}</li>`)}</ul>
    ${found ? html`<${Faults} title="It cannot be migrated either" problems=${found} />` : null}
    <p class="actions">
      ${found ? null : html`<button type="button" class="primary" data-focus onClick=${migrate}>Use what migrating makes of it</button>`}
      <button type="button" onClick=${closeDialog}>Leave it</button>
    </p>
  </${Dialog}>`;
}
