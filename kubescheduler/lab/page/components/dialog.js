// A dialog over the page. Opened by `openDialog(Component)`; Escape and the cross close it, focus goes back.

import { editOrFault } from "../api.js";
import { announce, dialog } from "../store.js";
import { html, useId, useLayoutEffect, useRef, useState } from "../ui.js";
import { IconButton } from "./controls.js";

export function openDialog(component) {
  dialog.value = component;
}

export function closeDialog() {
  dialog.value = null;
}

// close(): what the cross and Escape do; for a part of the page that draws its own dialog.
export function Dialog({ title, children, wide = false, close = closeDialog, onKeyDown }) {
  const place = useRef(null);
  const name = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    place.current.showModal();
    place.current.querySelector("[data-focus]")?.focus();
    return () => before?.isConnected && before.focus();
  }, []);
  const outside = (event) => event.target === place.current && close();
  return html`<dialog
    ref=${place}
    class=${wide ? "wide" : ""}
    aria-labelledby=${name}
    onClose=${close}
    onKeyDown=${onKeyDown}
    onPointerDown=${outside}
  >
    <header>
      <h2 id=${name}>${title}</h2>
      <${IconButton} name="close" label="Close" onClick=${close} />
    </header>
    <div class="body">${children}</div>
  </dialog>`;
}

// A dialog with a form that becomes one change of the scene; what is wrong with it is said in the form.

// build(values) → the edit; values: the fields' texts by their names, a ticked box "on". children: the fields; or what
// draws them of the problems, which it then shows itself.
export function EditForm({ title, action, build, wide = false, children }) {
  const [problems, setProblems] = useState([]);
  const [sending, setSending] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setSending(true);
    try {
      await editOrFault(build(Object.fromEntries(new FormData(event.target))));
      closeDialog();
    } catch (fault) {
      setSending(false);
      if (!fault.problems) throw fault;
      setProblems(fault.problems);
      announce(fault.problems.join("; "), true);
    }
  };
  return html`<${Dialog} title=${title} wide=${wide}>
    <form class="form" onSubmit=${submit}>
      ${typeof children === "function" ? children(problems) : html`${children}<${Problems} problems=${problems} />`}
      <p class="actions">
        <button type="submit" class="primary" disabled=${sending}>${action}</button>
        <button type="button" onClick=${closeDialog}>Cancel</button>
      </p>
    </form>
  </${Dialog}>`;
}

export function Problems({ problems }) {
  if (!problems.length) return null;
  return html`<ul class="problems">
    ${problems.map((text) => html`<li><span class="sign" aria-hidden="true">✗</span> ${text}</li>`)}
  </ul>`;
}

// One line of a form. choices: what the browser proposes while one types.
export function Field({ label, name, hint = "", choices = null, value = "", type = "text", ...rest }) {
  const list = useId();
  return html`<label class="field">
    <span>${label}</span>
    <input name=${name} type=${type} defaultValue=${value} list=${choices ? list : undefined} autocomplete="off" spellcheck=${false} ...${rest} />
    ${hint && html`<small class="quiet">${hint}</small>`}
    ${choices && html`<datalist id=${list}>${choices.map((each) => html`<option value=${each} />`)}</datalist>`}
  </label>`;
}

// One of several, by a list. choices: texts, or [value, text]
export function Select({ label, name, choices, value, ...rest }) {
  return html`<label class="field">
    <span>${label}</span>
    <select name=${name} ...${rest}>
      ${choices.map((each) => {
        const [key, text] = Array.isArray(each) ? each : [each, each];
        return html`<option value=${key} selected=${key === value}>${text}</option>`;
      })}
    </select>
  </label>`;
}

// "a=1, b=2" as a map; a name without a value has an empty one.
export function pairs(text) {
  const parts = text.split(/[,\n]/).map((each) => each.trim());
  return Object.fromEntries(parts.filter(Boolean).map((each) => [each.split("=")[0], each.split("=").slice(1).join("=")]));
}

// "a, b" as a list.
export function items(text) {
  return text.split(/[,\n]/).map((each) => each.trim()).filter(Boolean);
}
