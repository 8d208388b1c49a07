// Notes of what was done or went wrong, which stand in the bar, where they cover nothing; and the region that says them to screen readers.

import { announcement, dismiss, goOn, stay, toasts } from "../store.js";
import { html } from "../ui.js";
import { Icon } from "./icons.js";

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
