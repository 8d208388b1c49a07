// An exercise beside the screens: its task, hints one by one, the files, and the checks with what each found.

import { ask, open, refresh, useAnswer } from "../api.js";
import { openDialog } from "../components/dialog.js";
import { Answered } from "../components/states.js";
import { Markdown } from "../markdown/markdown.js";
import { announce, toast } from "../store.js";
import { html, useState, useSheet } from "../ui.js";
import { Checks } from "./exercise/checks.js";
import { ExerciseFiles } from "./exercise/exercise_files.js";
import { ExerciseList } from "./exercise/exercise_list.js";
import { Tiers } from "./exercise/tiers.js";

useSheet("style/exercise.css");

// What a verb of the exercise answers, or null after a fault, which was shown.
async function asked(verb, params) {
  try {
    const answer = await ask(verb, params);
    await refresh();
    return answer;
  } catch (fault) {
    if (!fault.problems) throw fault;
    toast(fault.problems.join("\n"), { kind: "fault" });
    return null;
  }
}

function Panel({ exercise }) {
  const [checking, setChecking] = useState(false);
  const check = async () => {
    setChecking(true);
    const answer = await asked("exerciseCheck", {});
    setChecking(false);
    if (answer) announce(answer.passed ? "Every check passed" : `${answer.checks.filter((each) => !each.passed).length} checks failed`, true);
  };
  const choose = () => openDialog(() => html`<${ExerciseList} begin=${(name) => open({ exercise: name })} />`);
  return html`
    <header class="toolbar">
      <h2>${exercise.title}</h2>
      <button type="button" class="plain push" onClick=${choose}>All exercises</button>
    </header>
    <details open><summary>Task</summary><${Markdown} text=${exercise.task} top=${3} /></details>
    <${Tiers} exercise=${exercise} more=${() => asked("exerciseHint", {})} />
    <${ExerciseFiles} files=${exercise.files} keep=${(name, text) => asked("exerciseFile", { name, text })} />
    <${Checks} exercise=${exercise} checking=${checking} check=${check} />
  `;
}

export default function Exercise() {
  const known = useAnswer("exercise");
  return html`<${Answered} known=${known} text="Reading the exercise">${(exercise) => html`<${Panel} key=${exercise.name} exercise=${exercise} />`}</${Answered}>`;
}
