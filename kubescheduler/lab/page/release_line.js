// By which release is decided: a slider over those that can, with a mark at each step at which the pod goes elsewhere.

import { ask, edit, editInSlot, editOrFault, live, stop, useAnswer } from "./api.js";
import { Icon, place } from "./components/controls.js";
import { Faults } from "./components/states.js";
import { openLater } from "./dialogs.js";
import { asked, screen, state, tab } from "./store.js";
import { html, useEffect, useId, useLayoutEffect, useRef, useState, useWhenNew } from "./ui.js";

const MOST_SIDES = 4;
const STEP = "releaseStep";

// A button that opens the slider below itself. text: what it shows.
export function Release({ side, text }) {
  const panel = useRef(null);
  const id = useId();
  const [open, setOpen] = useState(false);
  if (!live()) return text;
  // What is drawn when it opens is larger than what is there before.
  const toggled = (event) => setOpen(event.newState === "open");
  return html`<button type="button" class="plain release" popovertarget=${id} title="Change the release" aria-label=${`${text || "Release"}: change the release`}>
      ${text} <${Icon} name="down" />
    </button>
    <div class="releases" id=${id} popover="auto" role="group" aria-label="Release that decides" ref=${panel} onToggle=${toggled}>
      ${open && html`<${Panel} side=${side} panel=${panel} close=${() => panel.current.hidePopover()} />`}
    </div>`;
}

function Panel({ side, panel, close }) {
  const known = useAnswer("releases", { side: side.id }, { slot: "releases" });
  // In a lesson the answer is to be guessed.
  const told = screen.value !== "class" && asked.value !== null;
  const read = known.answer?.releases.filter((each) => !each.problem || each.release === side.release).map((each) => each.release);
  const steps = useSteps(side.id, told ? known.answer?.of : undefined, read);
  useLayoutEffect(() => {
    const put = () => place(panel.current, document.querySelector(`[popovertarget="${panel.current.id}"]`), "start");
    put();
    addEventListener("resize", put);
    return () => removeEventListener("resize", put);
  }, [known.answer, steps.moves.length]);
  if (known.problems) return html`<${Faults} title="The releases cannot be told" problems=${known.problems} />`;
  if (!read) return html`<p class="quiet">Looking at the releases …</p>`;
  return html`
    <${Slider} side=${side} read=${read} moves=${steps.moves} />
    ${told && html`<${Moves} side=${side} steps=${steps} total=${read.length - 1} />`}
    <${Others} side=${side} others=${known.answer.releases.filter((each) => !read.includes(each.release))} close=${close} />
    ${state.value.sides.length < MOST_SIDES && html`<button type="button" onClick=${() => (close(), (screen.value = "sides"))}>Compare …</button>`}`;
}

// The steps at which the pod goes elsewhere, asked for one after another: {moves, seen}. What was answered is kept
// while it is the same: whichever release decides, the steps between them are.

const kept = new Map();
const MOST_KEPT = 8;

function answersOf(key) {
  if (!kept.has(key)) kept.set(key, new Map());
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return kept.get(key);
}

function useSteps(side, of, read) {
  const [, redraw] = useState(0);
  const key = `${tab.value} ${of}`;
  const pairs = of === undefined ? [] : read.slice(1).map((release, at) => [read[at], release]);
  const found = of === undefined ? new Map() : answersOf(key);
  useEffect(() => {
    let wanted = true;
    const look = async () => {
      for (const [before, release] of pairs) {
        if (found.has(release)) continue;
        const answer = await ask(STEP, { side, before, release }, { slot: STEP }).catch((fault) => (fault.problems ? { hosts: null } : null));
        if (!wanted || !answer) return;
        found.set(release, answer);
        redraw((n) => n + 1);
      }
    };
    look();
    return () => {
      wanted = false;
      stop(STEP);
    };
  }, [key, read?.join()]);
  const answers = pairs.map(([, release]) => found.get(release)).filter(Boolean);
  return { moves: answers.filter(({ hosts }) => hosts && hosts[0] !== hosts[1]), seen: answers.length };
}

const way = ({ hosts }) => hosts.map((host) => host ?? "no node").join(" → ");
const by = ({ changes, text }) => changes.map((change) => change.name).join(", ") || text || "among equal best nodes";

function Slider({ side, read, moves }) {
  const id = useId();
  const [shown, show] = useState(side.release);
  const grip = useRef(0);
  const input = useRef(null);
  useLayoutEffect(() => input.current.focus(), []);
  useWhenNew(side.release, () => show(side.release));
  const at = read.indexOf(shown);
  const choose = async (event) => {
    const release = read[event.target.valueAsNumber];
    show(release);
    const answer = await editInSlot({ do: "release", side: side.id, release }, { slot: "release", join: `release ${side.id} ${grip.current}` });
    if (answer === null) show(side.release);
  };
  const move = moves.find((each) => each.release === shown);
  const said = `release ${shown}${move ? `, where the pod moves: ${way(move)}` : ""}`;
  return html`<div class="release-slide">
    <label for=${id}>Release that decides</label> <b aria-hidden="true">${shown}</b>
    <input
      type="range"
      id=${id}
      ref=${input}
      min="0"
      max=${read.length - 1}
      step="1"
      value=${at}
      aria-valuetext=${said}
      onFocus=${() => (grip.current = performance.now())}
      onPointerDown=${() => (grip.current = performance.now())}
      onInput=${choose}
    />
    <div class="release-marks" aria-hidden="true">
      ${moves.map((each) => html`<${Mark} key=${each.release} move=${each} at=${read.indexOf(each.release) / (read.length - 1 || 1)} />`)}
    </div>
    <p class="release-ends quiet" aria-hidden="true"><span>${read[0]}</span><span>${read.at(-1)}</span></p>
  </div>`;
}

function Mark({ move, at }) {
  return html`<span title=${`${move.release}: ${way(move)}, ${by(move)}`} style=${{ left: `${100 * at}%` }}></span>`;
}

// The same in words; a press decides by that release.
function Moves({ side, steps, total }) {
  const { moves, seen } = steps;
  const go = (release) => edit({ do: "release", side: side.id, release }, { quiet: true });
  return html`
    ${seen < total && html`<p class="quiet">Deciding ${asked.value.name} by every release: ${seen} of ${total} steps</p>`}
    ${
      moves.length > 0 &&
      html`<ul class="release-moves" aria-label="Steps at which the pod goes elsewhere">
        ${moves.map(
          (move) => html`<li key=${move.release}>
            <button type="button" class="plain" aria-pressed=${move.release === side.release} onClick=${() => go(move.release)}>${move.release}</button>
            <span title=${move.changes.map((change) => change.text).join(" ") || move.text}>${way(move)} <small class="quiet">${by(move)}</small></span>
          </li>`,
        )}
      </ul>`
    }
    ${seen === total && !moves.length && html`<p class="quiet">${asked.value.name} goes the same way by each of them.</p>`}`;
}

// Releases that cannot read what describes the side: what migrating makes of it is offered there.
function Others({ side, others, close }) {
  if (!others.length) return null;
  const go = (release) => {
    close();
    decideBy(side.id, release);
  };
  return html`<details class="release-others">
    <summary>${others.length} ${others.length === 1 ? "release" : "releases"} cannot read the configuration</summary>
    <ul>
      ${others.map(({ release, problem }) => html`<li key=${release}>
        <button type="button" aria-label=${`Decide by ${release}`} title=${problem} onClick=${() => go(release)}>${release} …</button>
      </li>`)}
    </ul>
  </details>`;
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
