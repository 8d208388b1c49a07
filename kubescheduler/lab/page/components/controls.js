// Pictures, fields of toolbars, menus, and groups in which arrow keys walk.

import { soon } from "../store.js";
import { classes, html, signal, useEffect, useLayoutEffect, useRef } from "../ui.js";

// The few pictures of the page, as outlines on a grid of 24, in the colour of the text.

const PATHS = {
  undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "m15 14 5-5-5-5M20 9H10a6 6 0 0 0 0 12h3",
  share: "M12 15V3M8 7l4-4 4 4M5 13v7h14v-7",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M19 5l-1.5 1.5M6.5 17.5 5 19",
  dark: "M20 14.5A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.5Z",
  auto: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM12 3v18M12 8h6.5M12 12h8.5M12 16h7.5",
  presenter: "M3 4h18M4 4v11h16V4M12 15v5M8 20h8",
  close: "M6 6l12 12M18 6 6 18",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  add: "M12 5v14M5 12h14",
  next: "m9 5 7 7-7 7",
  previous: "m15 5-7 7 7 7",
  play: "M7 5v14l11-7Z",
  pause: "M8 5v14M16 5v14",
  down: "m6 9 6 6 6-6",
  move: "M12 3v18M3 12h18M9 6l3-3 3 3M9 18l3 3 3-3M6 9l-3 3 3 3M18 9l3 3-3 3",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM15.5 15.5 21 21",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
    <path d=${PATHS[name]} />
  </svg>`;
}

// A button that is only a picture; its name is read out and shown as a hint.
export function IconButton({ name, label, ...rest }) {
  return html`<button type="button" class="icon" aria-label=${label} title=${label} ...${rest}>
    <${Icon} name=${name} />
  </button>`;
}

// Fields of toolbars: a search, one of a few.

const PAUSE = 150;

// A field to search in; what is typed counts after a short pause.
export function Find({ find, onFind, label, ...rest }) {
  const callOff = useRef(null);
  useEffect(() => () => callOff.current?.(), []);
  const typed = (event) => {
    const text = event.target.value.trim();
    callOff.current?.();
    callOff.current = soon(() => onFind(text), PAUSE);
  };
  return html`<label class="find">
    <${Icon} name="search" />
    <input type="search" aria-label=${label} placeholder=${label} defaultValue=${find} onInput=${typed} ...${rest} />
  </label>`;
}

// One of a few, side by side. choices: [[value, text]]
export function Choice({ name, label, value, choices, onChange }) {
  return html`<fieldset class="segments">
    <legend class="unseen">${label}</legend>
    ${choices.map(
      ([each, text]) => html`<label key=${each}>
        <input type="radio" name=${name} checked=${value === each} onChange=${() => onChange(each)} /><span>${text}</span>
      </label>`,
    )}
  </fieldset>`;
}

// One stop of the Tab key for a group of many parts; arrow keys walk inside it.

// Of a container whose parts carry data-rove: keeps one of them reachable, and moves by arrows, Home and End.
export function rove(event) {
  const parts = [...event.currentTarget.querySelectorAll("[data-rove]")];
  const at = parts.indexOf(event.target.closest("[data-rove]"));
  if (at < 0) return;
  const last = parts.length - 1;
  const to = {
    ArrowRight: Math.min(last, at + 1),
    ArrowDown: Math.min(last, at + 1),
    ArrowLeft: Math.max(0, at - 1),
    ArrowUp: Math.max(0, at - 1),
    Home: 0,
    End: last,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  parts[to].focus();
}

// On focus inside the container: that part is the one that Tab comes back to.
export function rest(event) {
  const part = event.target.closest("[data-rove]");
  if (!part) return;
  for (const each of event.currentTarget.querySelectorAll("[data-rove]")) each.tabIndex = each === part ? 0 : -1;
}

// One list of things to do at a time, below the part that asked for it; arrow keys walk, Escape closes, letters jump.

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
    const away = (event) => !(event.target instanceof Node && list.current?.contains(event.target)) && closeMenu(false);
    const events = ["pointerdown", "scroll", "resize"];
    events.forEach((each) => addEventListener(each, away, true));
    return () => events.forEach((each) => removeEventListener(each, away, true));
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
      class=${classes(item.danger && "danger")}
      aria-disabled=${Boolean(item.disabled)}
      onClick=${run}
    >
      ${item.text}${item.quiet && html`<small>${item.quiet}</small>`}
    </button>
  </li>`;
}

// The list is fixed to the window, so that no scrolling part cuts it off.
export function place(list, anchor, align) {
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
