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

export function Dialog({ title, children, wide = false }) {
  const place = useRef(null);
  const name = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    place.current.showModal();
    place.current.querySelector("[data-focus]")?.focus();
    return () => before?.isConnected && before.focus();
  }, []);
  const outside = (event) => event.target === place.current && closeDialog();
  return html`<dialog
    ref=${place}
    class=${wide ? "wide" : ""}
    aria-labelledby=${name}
    onClose=${closeDialog}
    onPointerDown=${outside}
  >
    <header>
      <h2 id=${name}>${title}</h2>
      <${IconButton} name="close" label="Close" onClick=${closeDialog} />
    </header>
    <div class="body">${children}</div>
  </dialog>`;
}
