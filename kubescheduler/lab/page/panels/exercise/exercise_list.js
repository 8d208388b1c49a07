// The exercises that come with the package, in the order of the workshop.

import { useAnswer } from "../../api.js";
import { Dialog, closeDialog } from "../../components/dialog.js";
import { Answered, Faults } from "../../components/states.js";
import { state } from "../../store.js";
import { html, useState } from "../../ui.js";

function Entry({ each, choose }) {
  const here = state.value?.exercise?.name === each.name;
  return html`<li>
    <button type="button" class="exercise-choice" aria-current=${here ? "true" : undefined} onClick=${() => choose(each.name)}>
      <b>${each.title}</b>${each.minutes ? html` <span class="quiet">${each.minutes} min</span>` : null}
      ${each.summary ? html`<span class="quiet">${each.summary}</span>` : null}
    </button>
  </li>`;
}

// begin(name): opens one.
export function ExerciseList({ begin }) {
  const known = useAnswer("exercises");
  const [problems, setProblems] = useState(null);
  const choose = async (name) => {
    try {
      await begin(name);
      closeDialog();
    } catch (fault) {
      setProblems(fault.problems ?? [String(fault)]);
    }
  };
  return html`<${Dialog} title="Exercises">
    <p class="quiet">Beginning one opens another scene in this tab.</p>
    ${problems ? html`<${Faults} title="It could not be opened" problems=${problems} />` : null}
    <${Answered} known=${known} text="Reading the exercises">
      ${(answer) => html`<ol class="exercise-list">${answer.exercises.map((each) => html`<${Entry} key=${each.name} each=${each} choose=${choose} />`)}</ol>`}
    </${Answered}>
  </${Dialog}>`;
}
