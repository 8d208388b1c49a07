// For a lesson: predict where the pod goes, then let the scheduler say it, and see why. And the workshop: slides, the board.

import { ask, edit, live, useAnswer } from "../api.js";
import { showWhy } from "../cluster/actions.js";
import { Refusal } from "../components/evidence.js";
import { Markdown } from "../components/markdown.js";
import { Answered, Empty, Faults } from "../components/states.js";
import { Bar } from "../components/tables.js";
import { openLater } from "../dialogs.js";
import { carried, startDrag } from "../drag.js";
import { announce, asked, side, state, version } from "../store.js";
import { classes, html, signal, useComputed, useEffect, useRef, useSheet, useState } from "../ui.js";

// How many predictions came true, for as long as the page is open.

const tally = signal({ right: 0, asked: 0 });

// One of several best nodes is as right as the one that was taken.
function isRight(guess, found) {
  if (!found.host) return guess === "";
  return guess === found.host || (found.ties?.nodes.includes(guess) ?? false);
}

export function score(guess, found) {
  const { right, asked } = tally.value;
  tally.value = { right: right + (isRight(guess, found) ? 1 : 0), asked: asked + 1 };
}

// Slides of the workshop: a page for each exercise with its story and its task, to project and to print as handouts.

function Slides({ close }) {
  const known = useAnswer("exercises", {}, { slot: "slides" });
  return html`<${Answered} known=${known} text="Reading the exercises">
    ${(answer) => html`<${Shown} exercises=${answer.exercises} close=${close} />`}
  </${Answered}>`;
}

function Shown({ exercises, close }) {
  const place = useRef(null);
  useEffect(() => {
    document.body.classList.add("slides-shown");
    place.current.firstElementChild?.focus({ preventScroll: true });
    return () => document.body.classList.remove("slides-shown");
  }, []);
  const turn = (event) => {
    const step = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const slides = [...place.current.children];
    const at = slides.indexOf(document.activeElement);
    slides[Math.min(slides.length - 1, Math.max(0, at + step))].focus();
  };
  return html`<div class="actions slides-tools">
      <button type="button" onClick=${close}>Back to the lesson</button>
      <button type="button" class="primary" onClick=${() => print()}>Print handouts</button>
      <span class="quiet">Arrow keys turn the pages.</span>
    </div>
    <div class="slides" ref=${place} onKeyDown=${turn}>
      ${exercises.map((one, at) => html`<${Slide} key=${one.name} exercise=${one} number=${at + 1} />`)}
    </div>`;
}

function Slide({ exercise, number }) {
  return html`<article class="slide" tabindex="0" aria-label=${`${number} ${exercise.title}`}>
    <header><h2>${number}. ${exercise.title}</h2><p class="quiet">release ${exercise.release} · ${exercise.minutes} minutes · kubescheduler lab start ${exercise.name.split("-")[0]} DIR</p></header>
    <p class="slide-summary">${exercise.summary}</p>
    <${Markdown} text=${exercise.task} top=${3} titled=${true} />
  </article>`;
}

// The nodes in large type: drop targets for a prediction; after it, with rank or refusal.

export function Candidates({ answer, guess, found, onPredict }) {
  const ranks = new Map((found?.nodes ?? []).map((node) => [node.name, node]));
  return html`<ul class="candidates" aria-label="Nodes">
      ${answer.nodes.map((node) => {
        const said = ranks.get(node.name);
        return html`<${Candidate} key=${node.name} node=${node} said=${said} guessed=${guess === node.name} host=${found?.host} onPredict=${onPredict} />`;
      })}
    </ul>
    ${answer.total > answer.nodes.length && html`<p class="quiet">and ${answer.total - answer.nodes.length} more: choose them by name</p>`}`;
}

function Candidate({ node, said, guessed, host, onPredict }) {
  const over = useComputed(() => carried.value?.node === node.name).value;
  const chosen = host === node.name;
  return html`<li class=${classes("node", "candidate", over && "target", guessed && "guessed", chosen && "goes")} data-node=${onPredict ? node.name : undefined}>
    <div class="node-head">
      <strong>${node.name}</strong>
      ${
        onPredict
          ? html`<button type="button" class="plain" aria-pressed=${guessed} onClick=${() => onPredict(node.name)}>
              ${guessed ? "your prediction" : "here"}<span class="unseen">: ${node.name}</span>
            </button>`
          : html`<span>${mark(said, chosen)}</span>`
      }
    </div>
    ${node.resources.filter((each) => each.ghost > 0 && each.name !== "pods").map((each) => html`<${Bar} resource=${each} />`)}
    <div class="chips">
      ${guessed && !onPredict && html`<span class="chip accent">your prediction</span>`}
      ${node.cordoned && html`<span class="chip warn">‖ cordoned</span>`}
      ${node.conditions.map((text) => html`<span class="chip refuse">! ${text}</span>`)}
      ${node.taints.map((text) => html`<span class="chip warn">${text}</span>`)}
      <span class="chip">${node.zone || "no zone"}</span>
    </div>
    ${said && !said.fits && html`<p class="refused">✗ ${Object.values(said.refused).flat().join("; ")}</p>`}
  </li>`;
}

function mark(said, chosen) {
  if (chosen) return html`<span class="fits">✓ ${said?.total ?? ""}</span>`;
  if (!said) return "";
  return said.fits ? html`<span class="quiet">${said.rank}. with ${said.total}</span>` : "";
}

// How far a class is: students and exercises, asked again every few seconds while it is shown.

const PAUSE = 5000;

function Board() {
  const [board, setBoard] = useState(null);
  useEffect(() => {
    if (!live()) return undefined;
    let timer = null;
    let gone = false;
    const look = async () => {
      try {
        const answer = await ask("classBoard", {});
        if (gone) return;
        setBoard(answer);
        if (answer.students) timer = setTimeout(look, PAUSE);
      } catch (fault) {
        if (!fault.problems) throw fault;
        if (!gone) setBoard({ problems: fault.problems });
      }
    };
    look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  if (board?.problems) return html`<p class="refused">${board.problems.join("; ")}</p>`;
  if (!board?.students) return null;
  return html`<section aria-labelledby="board-title" class="board">
    <h2 id="board-title">Class board</h2>
    <div class="table"><table>
      <thead><tr><th scope="col">Student</th>${board.exercises.map((name) => html`<th scope="col" title=${name}>${short(name)}</th>`)}<th scope="col">Done</th></tr></thead>
      <tbody>${board.students.map((student) => html`<${Student} key=${student.name} student=${student} exercises=${board.exercises} />`)}</tbody>
    </table></div>
    <p class="quiet" role="status">${board.waiting ? `${board.waiting} still to be checked` : ""}</p>
  </section>`;
}

function Student({ student, exercises }) {
  const cells = new Map(student.cells.map((each) => [each.exercise, each]));
  return html`<tr><th scope="row">${student.name}</th>${exercises.map((name) => html`<${Cell} cell=${cells.get(name)} />`)}<td>${student.done}</td></tr>`;
}

function Cell({ cell }) {
  if (!cell) return html`<td class="quiet">-</td>`;
  return html`<td class=${cell.done ? "fits" : "refused"} title=${cell.said}>${cell.done ? "✓" : "✗"} ${cell.text}</td>`;
}

function short(name) {
  return /^\d/.test(name) ? name.split("-")[0] : name;
}

// The scheduler's answer beside the prediction.

function Revealed({ found, guess }) {
  const right = isRight(guess, found);
  const text = found.host ? `It goes to ${found.host}.` : found.tried === false ? "It is not tried." : "It fits nowhere.";
  useEffect(() => announce(`${right ? "Right." : "Not quite."} ${text}`), []);
  return html`<section class=${right ? "revealed right" : "revealed"} aria-label="The scheduler's answer">
    <p class="verdict"><strong>${right ? "✓ Right." : "✗ Not quite."}</strong> ${text}</p>
    ${found.message && html`<p class="quiet">${found.message}</p>`}
    ${guess && guess !== found.host && html`<${Difference} found=${found} guess=${guess} />`}
  </section>`;
}

function Difference({ found, guess }) {
  const mine = found.nodes.find((each) => each.name === guess);
  const best = found.nodes.find((each) => each.name === found.host);
  if (mine?.fits && best) return html`<${Scores} rules=${found.rules} mine=${mine} best=${best} />`;
  return html`<${Refusals} guess=${guess} />`;
}

function Refusals({ guess }) {
  const known = useAnswer("why", { side: side.value.id, node: guess }, { slot: "why" });
  return html`<${Answered} known=${known}>
    ${(answer) => answer.refusals.filter((each) => each.refuses !== false).map((each) => html`<${Refusal} refusal=${each} />`)}
  </${Answered}>`;
}

function Scores({ rules, mine, best }) {
  const product = (node, rule) => node.scores[rule.id]?.product ?? 0;
  const rows = rules.filter((rule) => product(mine, rule) !== product(best, rule));
  return html`<div class="table" tabindex="0" role="group" aria-label="Where the scores differ">
    <table>
      <caption>Points, times weight, where they differ</caption>
      <thead>
        <tr><th scope="col">Rule</th><th scope="col" class="number">${mine.name}</th><th scope="col" class="number">${best.name}</th></tr>
      </thead>
      <tbody>
        ${rows.map(
          (rule) => html`<tr>
            <th scope="row">${rule.title} <span class="quiet">× ${rule.weight}</span></th>
            <td class="number">${product(mine, rule)}</td>
            <td class="number">${product(best, rule)}</td>
          </tr>`,
        )}
        <tr><th scope="row">Total</th><td class="number"><b>${mine.total}</b></td><td class="number"><b>${best.total}</b></td></tr>
      </tbody>
    </table>
  </div>`;
}

// A prediction, the answer, and what made the difference.

const MOST = 60;

const NOWHERE = "";

function Lesson() {
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

useSheet("style/cluster.css");
useSheet("style/class.css");

export default function Class() {
  const [slides, setSlides] = useState(false);
  if (slides) return html`<${Slides} close=${() => setSlides(false)} />`;
  return html`
    ${live() && html`<div class="actions"><button type="button" onClick=${() => setSlides(true)}>Slides of the workshop</button></div>`}
    <${Board} />
    <${Question} />
  `;
}

function Question() {
  if (!asked.value) {
    return html`<${Empty} title="No pod to predict">
      <p>Choose one of the pending pods, or add one on the screen Cluster.</p>
    </${Empty}>`;
  }
  return html`<${Lesson} key=${`${asked.value.key} ${side.value.id} ${version.value}`} />`;
}
