// The files of an exercise. What may be edited is kept as one types; code is edited on disk.

import { live } from "../../api.js";
import { Dialog, openDialog } from "../../components/dialog.js";
import { Editor } from "../../components/editor.js";
import { html, useEffect, useRef, useState } from "../../ui.js";

const PAUSE = 500;

// pending: a ref that gets what keeps at once what was typed last.
function useKeeping(file, keep, pending) {
  const [text, setText] = useState(file.text);
  const [said, say] = useState("");
  const [problems, setProblems] = useState([]);
  const timer = useRef(null);
  const unkept = useRef(null);
  useEffect(() => {
    if (unkept.current === null) setText(file.text);
  }, [file.text]);
  const send = async () => {
    clearTimeout(timer.current);
    const wanted = unkept.current;
    if (wanted === null) return;
    const answer = await keep(file.name, wanted);
    if (unkept.current !== wanted) return;
    if (answer) unkept.current = null;
    say(answer ? "Saved" : "Not saved");
    setProblems((answer?.problems ?? []).map((each) => (typeof each === "string" ? { text: each } : each)));
  };
  pending.current = send;
  useEffect(() => () => void send(), []);
  const type = (next) => {
    unkept.current = next;
    setText(next);
    say("…");
    clearTimeout(timer.current);
    timer.current = setTimeout(send, PAUSE);
  };
  return [text, type, said, problems];
}

function FileEditor({ file, keep, pending }) {
  const [text, type, said, problems] = useKeeping(file, keep, pending);
  const editable = file.editable && live();
  return html`<div class="exercise-file">
    <${Editor} label=${file.name} value=${text} onInput=${type} readOnly=${!editable} language=${file.name.endsWith(".py") ? "text" : "yaml"} problems=${problems} />
    <p class="quiet" role="status">${editable ? said : (file.note || "Only to be read here.")}</p>
  </div>`;
}

function Large({ file, keep }) {
  const pending = useRef(null);
  return html`<${Dialog} title=${file.name} wide=${true}><${FileEditor} file=${file} keep=${keep} pending=${pending} /></${Dialog}>`;
}

// keep(name, text): saves a file. pending: a ref that gets what saves at once what was typed last.
export function ExerciseFiles({ files, keep, pending }) {
  const [chosen, choose] = useState(files.find((each) => each.editable)?.name ?? files[0]?.name);
  const file = files.find((each) => each.name === chosen) ?? files[0];
  if (!file) return null;
  return html`<section aria-labelledby="files-title" class="exercise-files">
    <h3 id="files-title">Files</h3>
    <div class="toolbar">
      <select aria-label="File" onChange=${(event) => choose(event.target.value)}>
        ${files.map((each) => html`<option value=${each.name} selected=${each === file}>${each.name}${each.editable ? "" : " (to read)"}</option>`)}
      </select>
      <button type="button" class="plain push" onClick=${() => openDialog(() => html`<${Large} file=${file} keep=${keep} />`)}>Larger</button>
    </div>
    <${FileEditor} key=${file.name} file=${file} keep=${keep} pending=${pending} />
  </section>`;
}
