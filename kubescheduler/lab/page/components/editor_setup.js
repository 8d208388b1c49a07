// How CodeMirror is set up here: its extensions, its colours from the page's properties.

// The smallest replacement that makes one text of another, so that the caret stays where it is.
export function replacement(old, wanted) {
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
// which the page's policy refuses.
function typedOver(event, view) {
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
export function editorExtensions(cm, { label, language, readOnly, heard }) {
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
