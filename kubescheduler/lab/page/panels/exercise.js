// An exercise beside the screens: its task, hints one by one, the files, and the checks with what each found.

import { ask, live, open, refresh, useAnswer } from "../api.js";
import { closeDialog, Dialog, openDialog } from "../components/dialog.js";
import { Editor } from "../components/editor.js";
import { Markdown } from "../components/markdown.js";
import { Answered, Faults } from "../components/states.js";
import { announce, state, toast } from "../store.js";
import { html, useLeaving, useRef, useSheet, useState } from "../ui.js";

// Check, and each check with what it found.

const SIGNS = new Map([
  [true, ["✓", "passed", "fits"]],
  [false, ["✗", "failed", "refused"]],
  [null, ["○", "not checked yet", "quiet"]],
]);

function Check({ check }) {
  const [sign, said, name] = SIGNS.get(check.passed ?? null);
  return html`<li class="check-row">
    <span class=${`sign ${name}`} aria-hidden="true">${sign}</span>
    <span><span class="unseen">${said}: </span>${check.text}${check.scenario ? html` <span class="chip">${check.scenario}</span>` : null}
      ${check.detail ? html`<small class=${name}>${check.detail}</small>` : null}${check.remark ? html`<small class="quiet">${check.remark}</small>` : null}
    </span>
  </li>`;
}

function failing({ checks }) {
  const failed = checks.filter((each) => each.passed === false).length;
  return failed === 1 ? "1 check fails" : failed ? `${failed} checks fail` : "";
}

function Checks({ exercise, checking, check }) {
  const failed = failing(exercise);
  return html`<section aria-labelledby="checks-title" class="checks" aria-busy=${checking}>
    <h3 id="checks-title">Checks</h3>
    ${exercise.problems.map((text) => html`<p class="refused"><span aria-hidden="true">✗</span> ${text}</p>`)}
    ${exercise.notes.map((text) => html`<p class="quiet">${text}</p>`)}
    ${exercise.checks.length ? html`<ul>${exercise.checks.map((each) => html`<${Check} check=${each} />`)}</ul>` : null}
    <div class="actions">
      ${live() ? html`<button type="button" class="primary" disabled=${checking} onClick=${check}>${checking ? "Checking …" : "Check"}</button>` : null}
      <p role="status" class="verdict">
        ${exercise.passed
          ? html`<span class="fits"><span aria-hidden="true">✓</span> Solved</span>`
          : failed
            ? html`<span class="refused"><span aria-hidden="true">✗</span> ${failed}</span>`
            : null}
      </p>
    </div>
  </section>`;
}

// The files of an exercise. What may be edited is kept as one types; code is edited on disk.

const PAUSE = 500;

// What is typed, until it is kept. pending: a ref that gets what keeps at once what was typed last.
function useKeeping(file, keep, pending) {
  const [typed, setTyped] = useState(null);
  const [said, say] = useState("");
  const [problems, setProblems] = useState([]);
  const timer = useRef(null);
  const unkept = useRef(null);
  const send = async () => {
    clearTimeout(timer.current);
    const wanted = unkept.current;
    if (wanted === null) return;
    const answer = await keep(file.name, wanted);
    if (unkept.current !== wanted) return;
    if (answer) setTyped((unkept.current = null));
    say(answer ? "Saved" : "Not saved");
    setProblems(answer?.faults ?? []);
  };
  pending.current = send;
  useLeaving(send);
  const type = (next) => {
    setTyped((unkept.current = next));
    say("…");
    clearTimeout(timer.current);
    timer.current = setTimeout(send, PAUSE);
  };
  return { text: typed ?? file.text, type, said, problems };
}

function FileEditor({ file, keep, pending, large, shrink }) {
  const { text, type, said, problems } = useKeeping(file, keep, pending);
  const editable = file.editable && live();
  const editor = html`<div class="exercise-file">
    <${Editor} label=${file.name} value=${text} onInput=${type} readOnly=${!editable} language=${file.name.endsWith(".py") ? "text" : "yaml"} problems=${problems} />
    <p class="quiet" role="status">${editable ? said : (file.note || "Only to be read here.")}</p>
  </div>`;
  return large ? html`<${Dialog} title=${file.name} wide close=${shrink}>${editor}</${Dialog}>` : editor;
}

// keep(name, text): saves a file. pending: a ref that gets what saves at once what was typed last.
function ExerciseFiles({ files, keep, pending }) {
  const [chosen, choose] = useState(files.find((each) => each.editable)?.name ?? files[0]?.name);
  const [large, enlarge] = useState(false);
  const file = files.find((each) => each.name === chosen) ?? files[0];
  if (!file) return null;
  return html`<section aria-labelledby="files-title" class="exercise-files">
    <h3 id="files-title">Files</h3>
    <div class="toolbar">
      <select aria-label="File" onChange=${(event) => choose(event.target.value)}>
        ${files.map((each) => html`<option value=${each.name} selected=${each === file}>${each.name}${each.editable ? "" : " (to read)"}</option>`)}
      </select>
      <button type="button" class="plain push" onClick=${() => enlarge(true)}>Larger</button>
    </div>
    <${FileEditor} key=${file.name} file=${file} keep=${keep} pending=${pending} large=${large} shrink=${() => enlarge(false)} />
  </section>`;
}

// The exercises that come with the package, in the order of the workshop.

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
function ExerciseList({ begin }) {
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

// Help in tiers: each is shown when it is asked for, the least first.

function Tiers({ exercise, more }) {
  const [asking, setAsking] = useState(false);
  const next = async () => {
    setAsking(true);
    await more();
    setAsking(false);
  };
  const left = exercise.tiersTotal - exercise.tiers.length;
  if (!exercise.tiersTotal) return null;
  return html`<section aria-labelledby="tiers-title" class="tiers">
    <h3 id="tiers-title">Hints <span class="quiet">${exercise.tiers.length} of ${exercise.tiersTotal}</span></h3>
    <ol aria-live="polite">
      ${exercise.tiers.map((text) => html`<li><${Markdown} text=${text} top=${4} /></li>`)}
    </ol>
    ${left > 0 && live()
      ? html`<button type="button" disabled=${asking} onClick=${next}>${exercise.tiers.length ? "One more hint" : "A hint"}</button>`
      : null}
  </section>`;
}

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
    if (answer) announce(answer.passed ? "Every check passed" : answer.problems.join("; ") || failing(answer), true);
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
