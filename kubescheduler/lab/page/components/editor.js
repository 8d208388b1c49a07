// A text that is edited, with faults at their lines. CodeMirror comes when an editor is first shown;
// until then, and where it cannot be had, a plain text field does the same.

import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../ui.js";
import { editorExtensions, replacement } from "./editor_setup.js";

let loading = null;
function codeMirror() {
  loading ??= import("../vendor/codemirror.js").catch(() => null);
  return loading;
}

// A problem as {text, line?, column?}: a text may say where it is.
export function placed(problem) {
  const at = typeof problem === "string" ? /^(?:[^\n]*?: )?line (\d+), column (\d+): ([^]*)$/.exec(problem) : null;
  if (at) return { text: at[3], line: Number(at[1]), column: Number(at[2]) };
  return typeof problem === "string" ? { text: problem } : problem;
}

// The place in the text that a problem names: {from, to} of its line, or of the first line.
function place(doc, problem) {
  const line = doc.line(Math.min(Math.max(problem.line ?? 1, 1), doc.lines));
  const from = Math.min(line.from + Math.max((problem.column ?? 1) - 1, 0), line.to);
  return { from: problem.column ? from : line.from, to: line.to };
}

function show(cm, view, problems) {
  const marks = problems.map((each) => ({ ...place(view.state.doc, each), severity: "error", message: each.text }));
  view.dispatch(cm.setDiagnostics(view.state, marks));
}

// The view in the host's shadow root: there its rules are adopted sheets, which the page's policy lets pass.
function mount(cm, host, { doc, selection, ...options }) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const state = cm.EditorState.create({ doc, selection, extensions: editorExtensions(cm, options) });
  const view = new cm.EditorView({ root, state });
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

// What is typed in, the plain field until CodeMirror is there and then its view: its text, and whether the focus is in it.
function plainField(area) {
  return { text: () => area.value, focused: () => document.activeElement === area, write: (text) => (area.value = text) };
}

function mirrorField(cm, view) {
  return {
    text: () => view.state.doc.toString(),
    focused: () => view.root.activeElement === view.contentDOM,
    write: (text) => view.dispatch({ changes: replacement(view.state.doc.toString(), text), userEvent: "set" }),
    appear: (focused) => (view.requestMeasure(), focused && view.focus()),
    show: (problems) => show(cm, view, problems),
    end: () => view.destroy(),
  };
}

// label: what it is, for screen readers. onInput(text): each change by a person, at once. value: the text as it is known
// outside, with what was typed. It comes in where it differs, but never while the focus is in the editor: an answer to
// an older text must not take letters back. problems: [{text, line?, column?}].
export function Editor({ label, value, onInput, problems = [], readOnly = false, language = "yaml" }) {
  const host = useRef(null);
  const area = useRef(null);
  const mirror = useRef(null);
  const now = useRef(null);
  const begun = useRef(value);
  const [plain, setPlain] = useState(true);
  const [withheld, withhold] = useState(false);
  const id = useId();
  now.current = { text: value.replace(/\r\n?/g, "\n"), onInput };

  const takeIn = () => {
    const field = mirror.current ?? plainField(area.current);
    const differs = field.text() !== now.current.text;
    if (differs && !field.focused()) field.write(now.current.text);
    withhold(differs && field.focused());
  };

  useEffect(() => {
    let gone = false;
    codeMirror().then((cm) => {
      if (gone || !cm) return;
      const { value: doc, selectionStart: anchor, selectionEnd: head } = area.current;
      const heard = (text) => now.current.onInput?.(text);
      mirror.current = mirrorField(cm, mount(cm, host.current, { doc, selection: { anchor, head }, label, language, readOnly, heard }));
      mirror.current.begins = plainField(area.current).focused();
      setPlain(false);
    });
    return () => {
      gone = true;
      mirror.current?.end();
      mirror.current = null;
    };
  }, []);

  // The focus goes over in the moment in which the plain field goes: no key is lost between.
  useLayoutEffect(() => {
    if (!plain) mirror.current.appear(mirror.current.begins);
  }, [plain]);
  useEffect(takeIn, [value, plain]);
  const marks = JSON.stringify(problems);
  useEffect(() => mirror.current?.show(problems), [marks, plain, value]);

  return html`<div class="editor" data-faulty=${problems.length ? "" : null} onFocusOut=${() => queueMicrotask(takeIn)}>
    <div ref=${host} class="editor-host" hidden=${plain}></div>
    ${plain
      ? html`<textarea
          ref=${area}
          aria-label=${label}
          aria-describedby=${problems.length ? id : null}
          spellcheck="false"
          readonly=${readOnly}
          defaultValue=${begun.current}
          onInput=${(event) => onInput?.(event.target.value)}
        ></textarea>`
      : null}
    ${withheld ? html`<p class="quiet" role="status">This was changed elsewhere meanwhile; the change is shown when you leave the text.</p>` : null}
    <${Problems} problems=${problems} id=${id} />
  </div>`;
}
