// The files of an exercise. What may be edited is kept as one types; code is edited on disk.

import { live } from "../../api.js";
import { Dialog } from "../../components/dialog.js";
import { Editor, placed } from "../../components/editor.js";
import { html, useEffect, useRef, useState } from "../../ui.js";

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
    setProblems((answer?.problems ?? []).map(placed));
  };
  pending.current = send;
  useEffect(() => () => void send(), []);
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
export function ExerciseFiles({ files, keep, pending }) {
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
