// A button that opens a list of things to do; arrow keys walk, Escape closes, letters jump.

import { classes, html, useEffect, useId, useRef, useState } from "../ui.js";

// items: [{text, run, quiet?: what it would do or why not, disabled?, danger?}]; children: what the button shows.
export function Menu({ label, items, children, buttonClass = "icon", align = "end" }) {
  const [open, setOpen] = useState(false);
  const button = useRef(null);
  const list = useRef(null);
  const name = useId();
  useEffect(() => {
    if (!open) return;
    place(list.current, button.current, align);
    list.current.querySelector("button:not([aria-disabled=true])")?.focus();
    const away = (event) => !list.current?.contains(event.target) && !button.current.contains(event.target) && close();
    addEventListener("pointerdown", away);
    addEventListener("scroll", away, true);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("scroll", away, true);
    };
  }, [open]);
  const close = (back = false) => {
    setOpen(false);
    if (back) button.current?.focus();
  };
  const keys = (event) => walk(event, list.current, () => close(true));
  return html`<span class="menu">
    <button
      type="button"
      ref=${button}
      class=${buttonClass}
      aria-label=${label}
      title=${label}
      aria-haspopup="menu"
      aria-expanded=${open}
      aria-controls=${open ? name : undefined}
      onClick=${() => setOpen(!open)}
    >
      ${children}
    </button>
    ${
      open &&
      html`<ul class="menu-list" role="menu" id=${name} ref=${list} aria-label=${label} onKeyDown=${keys}>
        ${items.map((item) => html`<${Item} item=${item} close=${close} />`)}
      </ul>`
    }
  </span>`;
}

function Item({ item, close }) {
  const run = () => {
    if (item.disabled) return;
    close(true);
    item.run();
  };
  return html`<li role="none">
    <button
      type="button"
      role="menuitem"
      tabindex="-1"
      class=${classes(item.danger && "danger")}
      aria-disabled=${Boolean(item.disabled)}
      onClick=${run}
    >
      ${item.text}${item.quiet && html`<small>${item.quiet}</small>`}
    </button>
  </li>`;
}

// The list is fixed to the window, so that no scrolling part cuts it off.
function place(list, button, align) {
  const at = button.getBoundingClientRect();
  const size = list.getBoundingClientRect();
  const left = align === "end" ? at.right - size.width : at.left;
  const below = at.bottom + 4 + size.height <= innerHeight || at.top < size.height;
  list.style.setProperty("left", `${Math.max(8, Math.min(left, innerWidth - size.width - 8))}px`);
  list.style.setProperty("top", `${Math.max(8, below ? at.bottom + 4 : at.top - size.height - 4)}px`);
}

// Moves the focus inside a list of buttons by the key of an event.
export function walk(event, list, escape) {
  const buttons = [...list.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  const last = buttons.length - 1;
  const to = { ArrowDown: at < last ? at + 1 : 0, ArrowUp: at > 0 ? at - 1 : last, Home: 0, End: last }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    buttons[to].focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    if (event.key === "Escape") event.preventDefault();
    event.stopPropagation();
    escape();
  } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && event.key !== " ") {
    const rest = [...buttons.slice(at + 1), ...buttons.slice(0, at + 1)];
    rest.find((each) => each.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
  }
}
