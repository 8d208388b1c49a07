// What a screen shows when it has no answer: waiting, nothing there, a fault.

import { html, useEffect, useState } from "../ui.js";

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

// The answer of `useAnswer` drawn by `children(answer)`, or what stands in for it.
export function Answered({ known, children, text }) {
  if (known.problems) return html`<${Faults} problems=${known.problems} />`;
  if (!known.answer) return html`<${Loading} text=${text} />`;
  return html`<div class="answered" aria-busy=${known.loading}>${children(known.answer)}</div>`;
}
