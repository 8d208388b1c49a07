// The frame around every screen: bar, pending pods, the screen, notes, the open dialog.

import { CarriedPod } from "./components/carried_pod.js";
import { Dropped } from "./components/dropped.js";
import { ExercisePlace } from "./components/exercise_place.js";
import { MenuHost } from "./components/menu.js";
import { LiveRegion } from "./components/notes.js";
import { Pending } from "./components/pending.js";
import { Faults, Loading } from "./components/states.js";
import { TopBar } from "./components/top_bar.js";
import { SCREENS } from "./screens.js";
import { busy, connection, connectionProblems, dialog, presenter, running, screen } from "./store.js";
import { classes, html, useEffect, useErrorBoundary, useNarrow, useState } from "./ui.js";

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
