// An exercise beside the screens: its task, hints one by one, the files, and the checks with what each found.

import { ask, open, refresh, useAnswer } from "../api.js";
import { openDialog } from "../components/dialog.js";
import { Answered } from "../components/states.js";
import { Markdown } from "../markdown/markdown.js";
import { announce, toast } from "../store.js";
import { html, useRef, useState, useSheet } from "../ui.js";
import { Checks } from "./exercise/checks.js";
import { ExerciseFiles } from "./exercise/exercise_files.js";
import { ExerciseList } from "./exercise/exercise_list.js";
import { Tiers } from "./exercise/tiers.js";

useSheet("style/exercise.css");

// What a verb of the exercise answers, or null after a fault, which was shown.
async function asked(verb, params) {
  try {
    return await ask(verb, params);
  } catch (fault) {
    if (!fault.problems) throw fault;
    toast(fault.problems.join("\n"), { kind: "fault" });
    return null;
  }
}

function Panel({ exercise, learn }) {
  const [checking, setChecking] = useState(false);
  const pending = useRef(null);
  const change = async (verb, params) => {
    const answer = await asked(verb, params);
    if (answer) learn(answer);
    if (answer && verb === "exerciseFile") await refresh();
    return answer;
  };
  const check = async () => {
    setChecking(true);
    await pending.current?.();
    const answer = await change("exerciseCheck", {});
    setChecking(false);
    if (answer) announce(answer.passed ? "Every check passed" : `${answer.checks.filter((each) => !each.passed).length} checks failed`, true);
  };
  const choose = () => openDialog(() => html`<${ExerciseList} begin=${(name) => open({ exercise: name })} />`);
  return html`
    <header class="toolbar">
      <h2>${exercise.title}</h2>
      <button type="button" class="plain push" onClick=${choose}>All exercises</button>
    </header>
    <details open><summary>Task</summary><${Markdown} text=${exercise.task} top=${3} titled=${true} /></details>
    <${Tiers} exercise=${exercise} more=${() => change("exerciseHint", {})} />
    <${ExerciseFiles} files=${exercise.files} keep=${(name, text) => change("exerciseFile", { name, text })} pending=${pending} />
    <${Checks} exercise=${exercise} checking=${checking} check=${check} />
  `;
}

// Saving, checks and hints give newer answers than the question did; one that is of an older scene no longer counts.
export default function Exercise() {
  const known = useAnswer("exercise");
  const [newer, learn] = useState(null);
  return html`<${Answered} known=${known} text="Reading the exercise">
    ${(answer) => (answer.name ? html`<${Panel} key=${answer.name} exercise=${newer?.name === answer.name && newer.version >= answer.version ? newer : answer} learn=${learn} />` : null)}
  </${Answered}>`;
}
