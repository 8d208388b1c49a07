// A text that is edited, with faults at their lines. CodeMirror comes when an editor is first shown;
// until then, and where it cannot be had, a plain text field does the same.

import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../ui.js";

// How CodeMirror is set up here: its extensions, its colours from the page's properties.

// The smallest replacement that makes one text of another, so that the caret stays where it is.
function replacement(old, wanted) {
  const most = Math.min(old.length, wanted.length);
  let start = 0;
  while (start < most && old[start] === wanted[start]) start += 1;
  let tail = 0;
  while (tail < most - start && old[old.length - 1 - tail] === wanted[wanted.length - 1 - tail]) tail += 1;
  return { from: start, to: old.length - tail, insert: wanted.slice(start, wanted.length - tail) };
}

const RULES = {
  "&": { color: "var(--text)", backgroundColor: "var(--page)", maxHeight: "var(--editor-height, 28rem)", fontSize: "0.8125rem" },
  ".cm-content, .cm-gutter": { minHeight: "9rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--quiet)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 14%, transparent)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent)",
  },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)" },
};

function colours(cm) {
  const { tags } = cm;
  return cm.HighlightStyle.define([
    { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--text)" },
    { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "var(--text)", fontWeight: "600" },
    { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
    { tag: [tags.meta, tags.separator, tags.punctuation], color: "var(--quiet)" },
  ]);
}

// Typing over a selection, done here: left to itself the browser keeps the look of what goes by a style in the markup,
// which the page's policy refuses. In a text that is only to be read nothing is typed.
function typedOver(event, view) {
  if (view.state.readOnly) return event.preventDefault() ?? true;
  if (event.inputType !== "insertText" || !event.data || view.composing) return false;
  const { from, to } = overTyped(view);
  if (from === to) return false;
  const changes = { from, to, insert: event.data };
  view.dispatch({ changes, selection: { anchor: from + event.data.length }, userEvent: "input.type", scrollIntoView: true });
  event.preventDefault();
  return true;
}

// What is selected; the document knows it before the editor does.
function overTyped(view) {
  const there = view.root.getSelection?.();
  const inside = there?.rangeCount && view.contentDOM.contains(there.anchorNode) && view.contentDOM.contains(there.focusNode);
  if (!inside) return view.state.selection.main;
  const ends = [view.posAtDOM(there.anchorNode, there.anchorOffset), view.posAtDOM(there.focusNode, there.focusOffset)];
  return { from: Math.min(...ends), to: Math.max(...ends) };
}

// heard(text) after each change by a person. Tab leaves the editor: nobody is held in it.
function editorExtensions(cm, { label, language, readOnly, heard }) {
  return [
    cm.lineNumbers(),
    cm.highlightSpecialChars(),
    cm.history(),
    cm.foldGutter(),
    cm.drawSelection(),
    cm.indentUnit.of("  "),
    cm.indentOnInput(),
    cm.bracketMatching(),
    cm.highlightActiveLine(),
    cm.highlightActiveLineGutter(),
    cm.lintGutter(),
    cm.syntaxHighlighting(colours(cm)),
    cm.keymap.of([...cm.defaultKeymap, ...cm.historyKeymap, ...cm.foldKeymap, ...cm.lintKeymap, ...cm.searchKeymap]),
    language === "yaml" ? cm.yaml() : [],
    cm.EditorState.readOnly.of(readOnly),
    cm.EditorView.lineWrapping,
    cm.EditorView.domEventHandlers({ beforeinput: typedOver }),
    cm.EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": String(readOnly), tabindex: "0" }),
    cm.EditorView.theme(RULES),
    cm.EditorView.updateListener.of((update) => {
      const byPerson = update.transactions.some((each) => each.docChanged && !each.isUserEvent("set"));
      if (byPerson) heard(update.state.doc.toString());
    }),
  ];
}

let loading = null;
function codeMirror() {
  loading ??= import("../vendor/codemirror.js").catch(() => null);
  return loading;
}

// "config:2:1: …" and "text: line 2, column 1: …"
const PLACED = /^(?:\w+:(\d+):(\d+)|(?:[^\n]*?: )?line (\d+), column (\d+)): ([^]*)$/;

// A problem as {text, line?, column?}: a text may say where it is.
export function placed(problem) {
  const at = typeof problem === "string" ? PLACED.exec(problem) : null;
  if (at) return { text: at[5], line: Number(at[1] ?? at[3]), column: Number(at[2] ?? at[4]) };
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
    if (!mirror.current && !area.current) return; // the focus went as the editor did
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
          spellcheck=${false}
          readonly=${readOnly}
          defaultValue=${begun.current}
          onInput=${(event) => onInput?.(event.target.value)}
        ></textarea>`
      : null}
    ${withheld ? html`<p class="quiet" role="status">This was changed elsewhere meanwhile; the change is shown when you leave the text.</p>` : null}
    <${Problems} problems=${problems} id=${id} />
  </div>`;
}
