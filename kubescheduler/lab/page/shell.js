// The frame around every screen: bar, pending pods, the screen, notes, the open dialog.

import { edit, live, open, redo, undo, useAnswer } from "./api.js";
import { Choice, IconButton, MenuHost } from "./components/controls.js";
import { openDialog } from "./components/dialog.js";
import { Answered, Faults, LiveRegion, Loading, Toasts } from "./components/states.js";
import { openLater } from "./dialogs.js";
import { CarriedPod, startDrag } from "./drag.js";
import { again } from "./kept_scene.js";
import { Release } from "./release_line.js";
import { address } from "./route.js";
import { PANELS, SCREENS } from "./screens.js";
import {
  asked,
  busy,
  connection,
  connectionProblems,
  dialog,
  presenter,
  running,
  screen,
  side,
  sideId,
  state,
  tab,
  theme,
  toast,
  wouldGo,
} from "./store.js";
import { classes, html, useEffect, useErrorBoundary, useLayoutEffect, useNarrow, useRef, useState } from "./ui.js";

// The server has dropped this tab's scene: what happened, what is kept, and ways on.

const WHY = "It keeps so many scenes at once, and drops the one that was idle longest when there are more, or one that nobody used for hours.";

function Dropped() {
  const [problems, setProblems] = useState([]);
  const { from, anew, text } = again(tab.value);
  const go = (source, said) =>
    open(source).then(
      () => toast(said),
      (fault) => setProblems(fault.problems ?? [String(fault)]),
    );
  const action = from && { text: "Open it again", run: () => go(from, `The scene is open again. ${text}`) };
  return html`<${Faults} title="The server no longer has this scene" problems=${[WHY, text, ...problems]} action=${action} />
    <p><button type="button" onClick=${() => go(anew, "A new scene")}>Begin anew</button></p>`;
}

// Beside the screen: the exercise, if the scene is one. Its panel is loaded then.

function ExercisePlace() {
  const exercise = state.value?.exercise;
  const [panel, setPanel] = useState(null);
  useEffect(() => {
    if (exercise && !panel) PANELS.exercise().then((module) => setPanel(() => module.default));
  }, [Boolean(exercise)]);
  if (!exercise || !panel) return null;
  return html`<aside class="exercise" tabindex="-1" aria-label=${`Exercise: ${exercise.title}`}><${panel} /></aside>`;
}

// The pods that wait, with what the scheduler says of each; choosing one makes it the pod that every screen asks about.

export function Pending() {
  const known = useAnswer("pending", { side: side.value?.id }, { when: Boolean(side.value) });
  const [open, setOpen] = useState(matchMedia("(min-width: 70rem)").matches);
  const host = known.answer?.pods.find((each) => each.key === asked.value?.key)?.host ?? null;
  useEffect(() => {
    wouldGo.value = host;
  }, [host]);
  const total = state.value?.pendingTotal ?? 0;
  return html`<section class=${classes("pending", open && "open")} aria-label="Pending pods">
    <h2>
      <button type="button" class="plain" aria-expanded=${open} onClick=${() => setOpen(!open)}>
        Pending <span class="count">${total}</span>
      </button>
    </h2>
    ${
      open &&
      html`<${Answered} known=${known} text="Asking for the pending pods">
        ${(answer) => html`<${List} pods=${answer.pods} more=${answer.more} />`}
      </${Answered}>`
    }
  </section>`;
}

function List({ pods, more }) {
  if (!pods.length) return html`<p class="quiet">Every pod has a node.</p>`;
  return html`<ul>
      ${pods.map((pod) => html`<${PendingPod} key=${pod.key} pod=${pod} />`)}
    </ul>
    ${more > 0 && html`<p class="quiet">and ${more} more</p>`}`;
}

function PendingPod({ pod }) {
  const chosen = asked.value?.key === pod.key;
  const ask = () => !chosen && edit({ do: "ask", pod: pod.key }, { quiet: true });
  const [namespace, name] = pod.key.split("/");
  // In a lesson the answer is to be guessed.
  const told = screen.value !== "class";
  const movable = live() && screen.value === "cluster";
  const drag = (event) => movable && startDrag(event, pod.key, drop);
  const byMouse = (event) => event.pointerType === "mouse" && drag(event);
  const move = () => openLater("moveTo", { pod: pod.key });
  return html`<li>
    <button
      type="button"
      class="pod-choice"
      aria-pressed=${chosen}
      disabled=${!live() && !chosen}
      onClick=${ask}
      onPointerDown=${byMouse}
    >
      <span class="name">${name}</span> <span class="quiet">${namespace}</span>
      ${told && html`<span class=${classes("verdict", pod.host ? "fits" : pod.foreign || pod.gated || pod.nominated ? "quiet" : "refused")}>${verdict(pod)}</span>`}
      ${told && pod.message && !pod.host && html`<span class="message" title=${pod.message}>${pod.message}</span>`}
    </button>
    ${
      movable &&
      html`<${IconButton} name="move" label=${`Move ${pod.key} to …, or drag it onto a node`} onClick=${move} onPointerDown=${drag} />`
    }
  </li>`;
}

// The module of drops is loaded with the screen that takes them.
async function drop(pod, node, verdict) {
  const { moved } = await import("./cluster/actions.js");
  moved(pod, node, verdict);
}

function verdict(pod) {
  if (pod.foreign) return "– of another scheduler";
  if (pod.gated) return "‖ held by a scheduling gate";
  if (pod.host) return `✓ would go to ${pod.host}`;
  if (pod.error) return "! the attempt failed";
  if (pod.nominated) return `… nominated to ${pod.nominated}`;
  return "✗ fits nowhere";
}

// Title, sides, screens, undo and redo, theme, presenter, share.

function TopBar() {
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
      ${shown?.exercise && html`<button type="button" class="plain to-exercise" onClick=${toExercise}>Exercise</button>`}
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

// Where there is no room for the exercise beside the screen, it stands below.
function toExercise() {
  const panel = document.querySelector("aside.exercise");
  panel?.scrollIntoView();
  panel?.focus({ preventScroll: true });
}

async function openShare() {
  const module = await PANELS.share();
  openDialog(module.default);
}

// One of several releases or configurations: what the screens show.
function Sides({ sides }) {
  const text = (each) => named(each, state.value.title);
  if (sides.length < 2) {
    return html`<div class="side"><${Release} side=${sides[0]} text=${text(sides[0])} /></div>`;
  }
  const choices = sides.map((each) => [each.id, text(each)]);
  return html`<div class="side">
    <${Choice} name="side" label="Release and configuration shown" value=${side.value?.id} choices=${choices} onChange=${(id) => (sideId.value = id)} />
    <${Release} side=${side.value} text="" />
  </div>`;
}

// A side's name says its release; that of a scene of one side is in the title already.
function named({ name, release }, title) {
  if (!name || name === title) return `release ${release}`;
  return name.includes(release) ? name : `${name}, ${release}`;
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

const loaded = new Map();

function useScreen(id) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const found = SCREENS.find((each) => each.id === id);
    if (!found || loaded.has(id)) return;
    found.load().then(
      (module) => loaded.set(id, module.default) && redraw((n) => n + 1),
      () => loaded.set(id, Unloadable) && redraw((n) => n + 1),
    );
  }, [id]);
  return loaded.get(id) ?? null;
}

function Unloadable() {
  return html`<${Faults} title="This screen could not be loaded" problems=${["Reload the page."]} />`;
}

function Screen({ id }) {
  const Content = useScreen(id);
  const [failed, again] = useErrorBoundary();
  if (failed) {
    const retry = { text: "Try again", run: again };
    return html`<${Faults} title="The page has a defect here" problems=${[String(failed)]} action=${retry} />`;
  }
  return Content ? html`<${Content} />` : html`<${Loading} text="Loading the screen" />`;
}

const TITLES = { closed: "The scene is out of reach", refused: "This page was opened without its token" };
const ADVICE = {
  closed: [],
  refused: ["Open the address that `kubescheduler lab` printed; the part after # holds the token."],
};

function Unconnected() {
  if (connection.value === "opening") return html`<main class="alone"><h1 class="unseen">kubescheduler lab</h1><${Loading} text="Opening the scene" /></main>`;
  if (connection.value === "dropped") return html`<main class="alone"><h1 class="unseen">kubescheduler lab</h1><${Dropped} /></main>`;
  const problems = [...connectionProblems.value, ...ADVICE[connection.value]];
  const action = { text: "Reload", run: () => location.reload() };
  return html`<main class="alone">
    <h1 class="unseen">kubescheduler lab</h1>
    <${Faults} title=${TITLES[connection.value]} problems=${problems} action=${action} />
  </main>`;
}

export function Shell() {
  const open = running.value;
  const title = SCREENS.find((each) => each.id === screen.value)?.title;
  useEffect(() => {
    document.title = title && open ? `${title} – kubescheduler lab` : "kubescheduler lab";
  }, [title, open]);
  const Dialog = dialog.value;
  // A phone begins with the screen; the pods come after it, and the bar leads to them.
  const narrow = useNarrow();
  const pods = html`<${Pending} key="pods" />`;
  const shown = html`<main key="screen" id="main" tabindex="-1" aria-label=${title}>
    <h1 class="unseen">${title}</h1>
    <${Screen} key=${screen.value} id=${screen.value} />
  </main>`;
  return html`
    ${open && html`<a class="skip" href="#main" onClick=${toMain}>To the screen</a>`}
    <div class=${classes("progress", busy.value > 0 && "busy")} aria-hidden="true"></div>
    <${TopBar} />
    ${
      open
        ? html`<div class=${classes("frame", presenter.value === "on" && "presented")}>${narrow ? [shown, pods] : [pods, shown]}<${ExercisePlace} key="exercise" /></div>`
        : html`<${Unconnected} />`
    }
    ${Dialog && html`<${Dialog} />`}
    <${MenuHost} />
    <${CarriedPod} />
    <${LiveRegion} />
  `;
}

function toMain(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
