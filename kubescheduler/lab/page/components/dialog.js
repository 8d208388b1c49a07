// A dialog over the page. Opened by `openDialog(Component)`; Escape and the cross close it, focus goes back.

import { dialog } from "../store.js";
import { html, useId, useLayoutEffect, useRef } from "../ui.js";
import { IconButton } from "./icons.js";

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
