// What a screen shows when it has no answer: waiting, nothing there, a fault; and the notes of what was done.

import { announcement, dismiss, goOn, stay, toasts } from "../store.js";
import { html, useEffect, useState } from "../ui.js";
import { Icon } from "./controls.js";

const PATIENCE = 150;

// Says so only when it takes long enough to be noticed.
export function Loading({ text = "Asking the scheduler" }) {
  const [shown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), PATIENCE);
    return () => clearTimeout(timer);
  }, []);
  return html`<p class="loading" role="status" hidden=${!shown}>${text} …</p>`;
}

// action: {text, run}
export function Empty({ title, children, action = null }) {
  return html`<div class="empty">
    <h2>${title}</h2>
    ${children}
    ${action && html`<p><button type="button" class="primary" onClick=${action.run}>${action.text}</button></p>`}
  </div>`;
}

export function Faults({ title = "That could not be answered", problems, action = null }) {
  return html`<div class="faults" role="alert">
    <h2><span class="sign" aria-hidden="true">!</span> ${title}</h2>
    <ul>
      ${problems.map((text) => html`<li>${text}</li>`)}
    </ul>
    ${action && html`<p><button type="button" onClick=${action.run}>${action.text}</button></p>`}
  </div>`;
}

// What a reader has to know besides, closed at first.
export function Notes({ notes }) {
  if (!notes.length) return null;
  return html`<details>
    <summary>${notes.length} ${notes.length === 1 ? "note" : "notes"}</summary>
    <ul>
      ${notes.map((text) => html`<li class="quiet">${text}</li>`)}
    </ul>
  </details>`;
}

// The answer of `useAnswer` drawn by `children(answer)`, or what stands in for it.
export function Answered({ known, children, text }) {
  if (known.problems) return html`<${Faults} problems=${known.problems} />`;
  if (!known.answer) return html`<${Loading} text=${text} />`;
  return html`<div class="answered" aria-busy=${known.loading}>${children(known.answer)}</div>`;
}

// Notes of what was done or went wrong, which stand in the bar, where they cover nothing; and the region that says them to screen readers.

export function Toasts() {
  if (!toasts.value.length) return null;
  return html`<section class="toasts" aria-label="Notes">
    <ul>
      ${toasts.value.map((each) => html`<${Note} key=${each.id} ...${each} />`)}
    </ul>
  </section>`;
}

function Note({ id, text, kind, action }) {
  const act = () => {
    dismiss(id);
    action.run();
  };
  const on = () => stay(id);
  const off = () => goOn(id);
  return html`<li class=${`toast ${kind}`} onPointerEnter=${on} onPointerLeave=${off} onFocusIn=${on} onFocusOut=${off}>
    <span class="sign" aria-hidden="true">${kind === "fault" ? "!" : "✓"}</span>
    <span class="text">${text}</span>
    ${action && html`<button type="button" class="plain" onClick=${act}>${action.text}</button>`}
    <button type="button" class="icon" aria-label="Dismiss" onClick=${() => dismiss(id)}><${Icon} name="close" /></button>
  </li>`;
}

// Two regions: what is urgent interrupts. The key makes the same text heard again.
export function LiveRegion() {
  const { text, urgent, at } = announcement.value;
  return html`<div class="unseen" role="region" aria-label="Announcements">
    <div role="status" aria-live="polite">${!urgent && html`<p key=${at}>${text}</p>`}</div>
    <div role="alert" aria-live="assertive">${urgent && html`<p key=${at}>${text}</p>`}</div>
  </div>`;
}
