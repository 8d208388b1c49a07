// One list of things to do at a time, below the part that asked for it; arrow keys walk, Escape closes, letters jump.

import { classes, html, signal, useLayoutEffect, useRef } from "../ui.js";

// {label, items, anchor, align} or null
const opened = signal(null);

// items: [{text, run, quiet?: what it would do or why not, disabled?, danger?}]
export function openMenu(anchor, label, items, { align = "start" } = {}) {
  opened.value = { label, items, anchor, align };
}

function closeMenu(back) {
  const anchor = opened.value?.anchor;
  opened.value = null;
  if (back && anchor?.isConnected) anchor.focus();
}

// A button that opens a menu; children: what it shows.
export function Menu({ label, items, children, buttonClass = "icon", align = "end" }) {
  const open = (event) => openMenu(event.currentTarget, label, items, { align });
  return html`<button type="button" class=${buttonClass} aria-label=${label} title=${label} aria-haspopup="menu" onClick=${open}>
    ${children}
  </button>`;
}

// Drawn once, by the shell.
export function MenuHost() {
  const shown = opened.value;
  return shown && html`<section aria-label=${shown.label}><${List} key=${shown} ...${shown} /></section>`;
}

function List({ label, items, anchor, align }) {
  const list = useRef(null);
  useLayoutEffect(() => {
    place(list.current, anchor, align);
    list.current.querySelector("button:not([aria-disabled=true])")?.focus();
    const away = (event) => !list.current?.contains(event.target) && closeMenu(false);
    const rolled = (event) => event.target !== list.current && closeMenu(false);
    addEventListener("pointerdown", away, true);
    addEventListener("scroll", rolled, true);
    addEventListener("resize", away);
    return () => {
      removeEventListener("pointerdown", away, true);
      removeEventListener("scroll", rolled, true);
      removeEventListener("resize", away);
    };
  }, [anchor]);
  return html`<ul class="menu-list" role="menu" ref=${list} aria-label=${label} onKeyDown=${(event) => walk(event, list.current)}>
    ${items.map((item) => html`<${Item} item=${item} />`)}
  </ul>`;
}

function Item({ item }) {
  const run = () => {
    if (item.disabled) return;
    closeMenu(true);
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
function place(list, anchor, align) {
  const at = anchor.getBoundingClientRect();
  const size = list.getBoundingClientRect();
  const left = align === "end" ? at.right - size.width : at.left;
  const below = at.bottom + 4 + size.height <= innerHeight || at.top < size.height;
  const top = below ? Math.min(at.bottom + 4, innerHeight - size.height - 8) : at.top - size.height - 4;
  list.style.setProperty("left", `${Math.max(8, Math.min(left, innerWidth - size.width - 8))}px`);
  list.style.setProperty("top", `${Math.max(8, top)}px`);
}

// Moves the focus inside the list by the key of an event.
function walk(event, list) {
  const buttons = [...list.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  const last = buttons.length - 1;
  const to = { ArrowDown: at < last ? at + 1 : 0, ArrowUp: at > 0 ? at - 1 : last, Home: 0, End: last }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    buttons[to].focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    event.stopPropagation();
    closeMenu(true);
  } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && event.key !== " ") {
    const rest = [...buttons.slice(at + 1), ...buttons.slice(0, at + 1)];
    rest.find((each) => each.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
  }
}
