// A text that is edited, with faults at their lines. CodeMirror comes when an editor is first shown;
// until then, and where it cannot be had, a plain text field does the same.

import { html, useEffect, useId, useRef, useState } from "../ui.js";
import { editorExtensions, replacement } from "./editor_setup.js";

let loading = null;
function codeMirror() {
  loading ??= import("../vendor/codemirror.js").catch(() => null);
  return loading;
}

// The place in the text that a problem names: {from, to} of its line, or of the first line.
function place(doc, problem) {
  const line = doc.line(Math.min(Math.max(problem.line ?? 1, 1), doc.lines));
  const from = Math.min(line.from + Math.max((problem.column ?? 1) - 1, 0), line.to);
  return { from: problem.column ? from : line.from, to: line.to };
}

function diagnostics(view, problems) {
  return problems.map((problem) => ({ ...place(view.state.doc, problem), severity: "error", message: problem.text }));
}

// The view in the host's shadow root: there its rules are adopted sheets, which the page's policy lets pass.
function mount(cm, host, heard, { value, label, language, readOnly }) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const view = new cm.EditorView({
    root,
    state: cm.EditorState.create({ doc: value, extensions: editorExtensions(cm, { label, language, readOnly, heard }) }),
  });
  root.replaceChildren(view.dom);
  return view;
}

function Problems({ problems, id }) {
  if (!problems.length) return null;
  return html`<ul class="editor-problems" id=${id}>
    ${problems.map(
      (each) => html`<li>
        <span class="sign" aria-hidden="true">✗</span>
        ${each.line ? html`<b>line ${each.line}</b> ` : null}${each.text}
      </li>`,
    )}
  </ul>`;
}

// label: what it is, for screen readers. onInput(text): each change by a person. problems: [{text, line?, column?}].
export function Editor({ label, value, onInput, problems = [], readOnly = false, language = "yaml" }) {
  const host = useRef(null);
  const view = useRef(null);
  const heard = useRef(onInput);
  const [plain, setPlain] = useState(true);
  const id = useId();
  heard.current = onInput;

  useEffect(() => {
    let gone = false;
    codeMirror().then((cm) => {
      if (gone || !cm || !host.current) return;
      const now = host.current.parentElement.querySelector("textarea")?.value ?? value;
      view.current = mount(cm, host.current, (text) => heard.current?.(text), { value: now, label, language, readOnly });
      view.current.lab = cm;
      setPlain(false);
    });
    return () => {
      gone = true;
      view.current?.destroy();
      view.current = null;
    };
  }, [label, language, readOnly]);

  useEffect(() => {
    const shown = view.current;
    if (!shown || shown.state.doc.toString() === value) return;
    shown.dispatch({ changes: replacement(shown.state.doc.toString(), value), userEvent: "set" });
  }, [value, plain]);

  useEffect(() => view.current?.requestMeasure(), [plain]);

  const marks = JSON.stringify(problems);
  useEffect(() => {
    const shown = view.current;
    if (shown) shown.dispatch(shown.lab.setDiagnostics(shown.state, diagnostics(shown, problems)));
  }, [marks, plain, value]);

  return html`<div class="editor" data-faulty=${problems.length ? "" : null}>
    <div ref=${host} class="editor-host" hidden=${plain}></div>
    ${plain
      ? html`<textarea
          aria-label=${label}
          aria-describedby=${problems.length ? id : null}
          spellcheck="false"
          readonly=${readOnly}
          value=${value}
          onInput=${(event) => onInput?.(event.target.value)}
        ></textarea>`
      : null}
    <${Problems} problems=${problems} id=${id} />
  </div>`;
}
