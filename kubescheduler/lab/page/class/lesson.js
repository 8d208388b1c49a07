// A prediction, the answer, and what made the difference.

import { ask, edit, live, useAnswer } from "../api.js";
import { showWhy } from "../cluster/pod_actions.js";
import { Answered, Faults } from "../components/states.js";
import { openLater } from "../dialogs.js";
import { startDrag } from "../drag.js";
import { announce, asked, side, state } from "../store.js";
import { html, useState } from "../ui.js";
import { Candidates } from "./candidates.js";
import { Revealed } from "./revealed.js";
import { score, tally } from "./tally.js";

const MOST = 60;

export const NOWHERE = "";

export function Lesson() {
  const [guess, setGuess] = useState(null);
  const [found, setFound] = useState(null);
  const [problems, setProblems] = useState(null);
  const nodes = useAnswer("cluster", { side: side.value.id, from: 0, to: MOST }, { slot: "class" });
  const pod = asked.value;
  const predict = (node) => {
    setGuess(node);
    announce(node === NOWHERE ? "Your prediction: it fits nowhere" : `Your prediction: ${node}`);
  };
  const reveal = async () => {
    try {
      const answer = await ask("decision", { side: side.value.id, from: 0, to: MOST });
      score(guess, answer);
      setFound(answer);
    } catch (fault) {
      if (!fault.problems) throw fault;
      setProblems(fault.problems);
    }
  };
  if (problems) return html`<${Faults} problems=${problems} />`;
  return html`<div class="lesson">
    <${Task} pod=${pod} guess=${guess} found=${found} onPredict=${predict} onReveal=${reveal} />
    ${found && html`<${Revealed} found=${found} guess=${guess} />`}
    <${Answered} known=${nodes} text="Asking for the nodes">
      ${(answer) => html`<${Candidates} answer=${answer} guess=${guess} found=${found} onPredict=${found ? null : predict} />`}
    </${Answered}>
  </div>`;
}

function Task({ pod, guess, found, onPredict, onReveal }) {
  const drop = (_, node) => onPredict(node);
  const choose = () => openLater("moveTo", { pod: pod.key, title: `Where does ${pod.name} go?`, chosen: onPredict, silent: true });
  return html`<header class="lesson-head">
    <h2>Where does this pod go?</h2>
    <p class="quiet">${side.value.name || side.value.release}. Drag the pod onto a node, or choose the node; then reveal.</p>
    <div class="lesson-row">
      <button
        type="button"
        class="lesson-pod"
        disabled=${Boolean(found)}
        aria-label=${`${pod.key}: choose a node`}
        onClick=${choose}
        onPointerDown=${(event) => !found && startDrag(event, pod.key, drop, { silent: true })}
      >
        <span class="quiet">${pod.namespace}</span> <strong>${pod.name}</strong>
      </button>
      <label class="tick">
        <input type="checkbox" checked=${guess === NOWHERE} disabled=${Boolean(found)} onChange=${(event) => onPredict(event.target.checked ? NOWHERE : null)} />
        it fits nowhere
      </label>
      <p class="prediction" role="status">${predicted(guess)}</p>
      ${!found && html`<button type="button" class="primary" disabled=${guess === null} onClick=${onReveal}>Reveal</button>`}
      <${Next} found=${found} pod=${pod} />
    </div>
    <p class="quiet">${tallied(tally.value)}</p>
  </header>`;
}

function predicted(guess) {
  if (guess === null) return "No prediction yet";
  return guess === NOWHERE ? "Prediction: nowhere" : `Prediction: ${guess}`;
}

function tallied({ right, asked: all }) {
  return all ? `${right} of ${all} predictions right` : "";
}

// After the answer: bind the pod, so that the next one meets a fuller cluster; or look at the reasons.
function Next({ found, pod }) {
  if (!found) return null;
  const why = () => showWhy(null);
  const bind = () => edit({ do: "schedule", side: side.value.id, pod: pod.key }).then((answer) => answer && nextPending());
  return html`<button type="button" onClick=${why}>Why?</button>
    ${live() && found.host && html`<button type="button" class="primary" onClick=${bind}>Bind it, next pod</button>`}`;
}

function nextPending() {
  const next = state.value.pods.find((each) => !each.node);
  if (next) edit({ do: "ask", pod: next.key }, { quiet: true });
}
