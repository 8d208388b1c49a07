// Title, sides, screens, undo and redo, theme, presenter, share.

import { edit, editOrFault, live, redo, undo } from "../api.js";
import { openLater } from "../dialogs.js";
import { address } from "../route.js";
import { PANELS, SCREENS } from "../screens.js";
import { presenter, running, screen, side, sideId, state, theme } from "../store.js";
import { html, useLayoutEffect, useNarrow, useRef } from "../ui.js";
import { openDialog } from "./dialog.js";
import { Icon, IconButton } from "./icons.js";
import { Menu } from "./menu.js";
import { Toasts } from "./notes.js";

const MOST_SIDES = 4;

export function TopBar() {
  const shown = running.value ? state.value : null;
  const narrow = useNarrow();
  useLayoutEffect(() => {
    addEventListener("keydown", shortcut);
    return () => removeEventListener("keydown", shortcut);
  }, []);
  const bar = useRef(null);
  // What stays below the bar while one scrolls begins where the bar ends, whatever it holds.
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => document.documentElement.style.setProperty("--bar", `${bar.current?.offsetHeight ?? 0}px`));
    watch.observe(bar.current);
    return () => watch.disconnect();
  }, []);
  return html`<header class="bar" ref=${bar}>
    <p class="brand">
      <strong>kubescheduler lab</strong>
      <span class="scene" title=${shown?.title}>${shown?.title ?? ""}</span>
    </p>
    ${shown && html`<${Sides} sides=${shown.sides} /> <${Screens} />`}
    <${Toasts} />
    <div class="tools">
      ${shown && narrow && html`<button type="button" class="plain" onClick=${toPods}>Pods <span class="count">${shown.pendingTotal}</span></button>`}
      ${shown && live() && html`<${History} shown=${shown} />`}
      <${Look} />
      ${shown && html`<${IconButton} name="share" label="Share or save the scene" onClick=${openShare} />`}
    </div>
  </header>`;
}

// On a phone, where the pods stand after the screen.
function toPods() {
  const head = document.querySelector(".pending h2 button");
  if (head.getAttribute("aria-expanded") === "false") head.click();
  head.scrollIntoView();
  head.focus({ preventScroll: true });
}

async function openShare() {
  const module = await PANELS.share();
  openDialog(module.default);
}

// One of several releases or configurations: what the screens show.
function Sides({ sides }) {
  const text = (each) => named(each, state.value.title);
  if (sides.length < 2) {
    return html`<div class="side"><${Release} text=${text(sides[0])} /></div>`;
  }
  return html`<div class="side"><fieldset class="segments sides">
    <legend class="unseen">Release and configuration shown</legend>
    ${sides.map(
      (each) => html`<label key=${each.id}>
        <input
          type="radio"
          name="side"
          checked=${side.value?.id === each.id}
          onChange=${() => (sideId.value = each.id)}
        /><span>${text(each)}</span>
      </label>`,
    )}
  </fieldset> <${Release} text="" /></div>`;
}

// A side's name says its release; that of a scene of one side is in the title already.
function named({ name, release }, title) {
  if (!name || name === title) return `release ${release}`;
  return name.includes(release) ? name : `${name}, ${release}`;
}

// Whose rules decide: another release for the side that is shown, or one more side.
function Release({ text }) {
  if (!live()) return text;
  const shown = side.value;
  const items = [
    ...state.value.releases.map((release) => ({
      text: `Decide by ${release}`,
      quiet: release === shown.release ? "as it does now" : "",
      disabled: release === shown.release,
      run: () => decideBy(shown.id, release),
    })),
    ...(state.value.sides.length < MOST_SIDES
      ? [{ text: "Compare …", quiet: "with other releases or configurations, side by side", run: () => (screen.value = "sides") }]
      : []),
  ];
  return html`<${Menu} label=${`${text || "Release"}: change the release`} items=${items} buttonClass="plain release" align="start">
    ${text} <${Icon} name="down" />
  </${Menu}>`;
}

// In an exercise the files say by what is decided: there a refusal is just said.
async function decideBy(side, release) {
  const wanted = { do: "release", side, release };
  if (state.value.exercise) return void edit(wanted);
  try {
    await editOrFault(wanted);
  } catch (fault) {
    if (!fault.problems) throw fault;
    openLater("migrated", { side, release, problems: fault.problems });
  }
}

function Screens() {
  const here = screen.value;
  const hidden = state.value.plugin ? [] : ["code"];
  const shown = SCREENS.filter((each) => !hidden.includes(each.id) || each.id === here);
  return html`<nav class="screens" aria-label="Screens">
    ${shown.map(
      ({ id, title }) =>
        html`<a key=${id} href=${address(id)} aria-current=${id === here ? "page" : undefined} onClick=${go(id)}>${title}</a>`,
    )}
  </nav>`;
}

const go = (id) => (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  screen.value = id;
};

function History({ shown }) {
  const back = shown.canUndo ? `Undo: ${shown.undoText}` : "Nothing to undo";
  const forth = shown.canRedo ? `Redo: ${shown.redoText}` : "Nothing to redo";
  return html`<${IconButton} name="undo" label=${back} aria-disabled=${!shown.canUndo} onClick=${() => shown.canUndo && undo()} />
    <${IconButton} name="redo" label=${forth} aria-disabled=${!shown.canRedo} onClick=${() => shown.canRedo && redo()} />`;
}

const NEXT = { auto: "light", light: "dark", dark: "auto" };
const SAID = { auto: "as the system", light: "light", dark: "dark" };

function Look() {
  const large = presenter.value === "on";
  return html`<${IconButton}
      name=${theme.value}
      label=${`Colours: ${SAID[theme.value]}`}
      onClick=${() => (theme.value = NEXT[theme.value])}
    />
    <${IconButton}
      name="presenter"
      label="Large type for a room"
      aria-pressed=${large}
      onClick=${() => (presenter.value = large ? "off" : "on")}
    />`;
}

// Ctrl+Z and Ctrl+Shift+Z (⌘ on a Mac), except where text is edited.
function shortcut(event) {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.altKey) return;
  const inside = event.composedPath()[0];
  if (inside.closest?.("input, textarea, select, dialog, [contenteditable=true], .editor")) return;
  if (!running.value || !live()) return;
  event.preventDefault();
  if (event.shiftKey) state.value.canRedo && redo();
  else state.value.canUndo && undo();
}
