// Asks what the scheduler beside is: another release, a provider, a Policy, a configuration, or a copy.

import { editOrFault } from "../../api.js";
import { Dialog, closeDialog } from "../../components/dialog.js";
import { Editor, placed } from "../../components/editor.js";
import { Faults } from "../../components/states.js";
import { state } from "../../store.js";
import { html, useState } from "../../ui.js";

const WAYS = {
  default: "The release's default",
  copy: "A copy of",
  migrate: "What migrating makes of",
  provider: "An algorithm provider",
  policy: "A Policy",
  config: "A KubeSchedulerConfiguration",
};
const WRITTEN = new Set(["policy", "config"]);

function wanted({ way, release, source, text }) {
  if (way === "migrate") return { do: "migrateSide", from: source, to: release };
  if (way === "copy") return { do: "addSide", release, copy: source };
  return way === "default" ? { do: "addSide", release } : { do: "addSide", release, kind: way, text };
}

export function AddSide({ sides }) {
  const releases = state.value.releases;
  const first = releases.find((each) => sides.every((side) => side.release !== each)) ?? releases.at(-1);
  const [asked, setAsked] = useState({ way: "default", release: first, source: sides[0].id, text: "" });
  const [problems, setProblems] = useState(null);
  const set = (name) => (event) => setAsked({ ...asked, [name]: event.target?.value ?? event });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await editOrFault(wanted(asked));
      closeDialog();
    } catch (fault) {
      if (!fault.problems) throw fault;
      setProblems(fault.problems);
    }
  };
  const options = (list, chosen) => list.map(([value, text]) => html`<option value=${value} selected=${value === chosen}>${text}</option>`);
  return html`<${Dialog} title="Add a scheduler" wide=${WRITTEN.has(asked.way)}>
    <form class="form" onSubmit=${submit}>
      <div class="row">
        <label class="field"><span>Release</span>
          <select onChange=${set("release")}>${options(releases.map((each) => [each, each]), asked.release)}</select>
        </label>
        <label class="field"><span>Configured by</span>
          <select onChange=${set("way")}>${options(Object.entries(WAYS), asked.way)}</select>
        </label>
        ${asked.way === "copy" || asked.way === "migrate"
          ? html`<label class="field"><span>Scheduler</span>
              <select onChange=${set("source")}>${options(sides.map((side) => [side.id, side.name]), asked.source)}</select>
            </label>`
          : null}
        ${asked.way === "provider"
          ? html`<label class="field"><span>Provider</span><input value=${asked.text} onInput=${set("text")} /></label>`
          : null}
      </div>
      ${WRITTEN.has(asked.way)
        ? html`<${Editor} label=${WAYS[asked.way]} value=${asked.text} onInput=${set("text")} problems=${(problems ?? []).map(placed)} />`
        : null}
      ${problems && !WRITTEN.has(asked.way) ? html`<${Faults} title="Not added" problems=${problems} />` : null}
      <div class="actions"><button class="primary">Add</button><button type="button" onClick=${closeDialog}>Cancel</button></div>
    </form>
  </${Dialog}>`;
}
