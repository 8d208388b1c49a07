// The attempt as a strip of steps, to walk through by hand or to play.

import { edit, live, useAnswer } from "../api.js";
import { IconButton } from "../components/controls.js";
import { Facts, Formula, Refusal, RuleLinks } from "../components/evidence.js";
import { Answered } from "../components/states.js";
import { announce, moment, screen, side } from "../store.js";
import { classes, html, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";
import { Extenders, FilterStep, Preemption, ScoreStep, Ties } from "./stages.js";

const SIGNS = { passed: "✓", stopped: "✗", skipped: "–", none: "·" };
export const SAID = { passed: "passed", stopped: "ended the attempt", skipped: "had nothing to do", none: "not reached" };
const PAUSE = 1800;

export function Steps({ steps, current, onStep }) {
  const [playing, setPlaying] = useState(false);
  const strip = useRef(null);
  const at = steps.findIndex((each) => each.id === current.id);
  const to = (next) => {
    const step = steps[Math.max(0, Math.min(steps.length - 1, next))];
    onStep(step.id);
    announce(`${step.title}: ${SAID[step.state]}. ${step.text}`);
  };
  useEffect(() => {
    if (!playing) return undefined;
    if (at === steps.length - 1) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => to(at + 1), PAUSE);
    return () => clearTimeout(timer);
  }, [playing, at]);
  // The selected step in the middle; again when the strip gets another width, as it first does with its stylesheet.
  useEffect(() => {
    const shown = strip.current;
    const watch = new ResizeObserver(() => {
      const [tab, whole] = [shown.querySelector("[aria-selected=true]"), shown].map((each) => each.getBoundingClientRect());
      shown.scrollLeft += tab.left + tab.width / 2 - (whole.left + whole.width / 2);
    });
    watch.observe(shown);
    return () => watch.disconnect();
  }, [at]);
  const play = () => {
    if (!playing && at === steps.length - 1) to(0);
    setPlaying(!playing);
  };
  const keys = (event) => {
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: steps.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    to(next);
    strip.current.querySelectorAll("[role=tab]")[Math.max(0, Math.min(steps.length - 1, next))].focus();
  };
  return html`<div class="steps">
    <div class="step-tools">
      <${IconButton} name="previous" label="Step back" aria-disabled=${at === 0} onClick=${() => to(at - 1)} />
      <${IconButton} name=${playing ? "pause" : "play"} label=${playing ? "Pause" : "Play the steps"} onClick=${play} />
      <${IconButton} name="next" label="Next step" aria-disabled=${at === steps.length - 1} onClick=${() => to(at + 1)} />
    </div>
    <div class="strip" role="tablist" aria-label="Steps of the decision" ref=${strip} onKeyDown=${keys}>
      ${steps.map(
        (each) => html`<button
          key=${each.id}
          type="button"
          role="tab"
          id=${`step-${each.id}`}
          class=${classes("step", each.state)}
          aria-selected=${each.id === current.id}
          aria-controls="step-panel"
          tabindex=${each.id === current.id ? 0 : -1}
          title=${`${each.title}: ${SAID[each.state]}`}
          onClick=${() => to(steps.indexOf(each))}
        >
          <span class="sign" aria-hidden="true">${SIGNS[each.state]}</span> ${each.title}
          <span class="unseen">, ${SAID[each.state]}</span>
        </button>`,
      )}
    </div>
  </div>`;
}

// What a step said: the matrix of checks, the scores, the ranking, the preemption, or a sentence.

const PURPOSE = {
  gates: "PreEnqueue plugins keep a pod out of the queue until what they wait for is there.",
  queue: "The queue orders the pods that wait; the first one is tried next.",
  preFilter: "PreFilter plugins look at the pod once, and may leave only some nodes to look at.",
  filter: "Filter plugins look at each node in turn; the first refusal is that node's answer.",
  predicates: "Predicates look at each node; a node that one of them refuses is out.",
  postFilter: "When no node fits, evicting pods of lower priority may make room.",
  preemption: "When no node fits, evicting pods of lower priority may make room.",
  preScore: "PreScore plugins count once what their scores need.",
  score: "Each score plugin gives each node that fits a raw score, on a scale of its own.",
  normalise: "Raw scores are brought to a scale of 0 to 100, so that they can be added.",
  priorities: "Each priority gives each node that fits 0 to 10 points; these times its weight are added.",
  select: "The node with the highest total is taken.",
  reserve: "Reserve plugins set aside what the pod will use on the node, before it is bound.",
  permit: "Permit plugins may let the pod wait before it is bound.",
  bind: "The pod's nodeName is set; from here on it is the kubelet's.",
};

const MODES = { score: "raw", normalise: "normalised", priorities: "normalised", select: "product" };

export function StepPanel({ step, pages, ...rest }) {
  const found = pages.head;
  return html`<section id="step-panel" class="step-panel" role="tabpanel" aria-labelledby=${`step-${step.id}`} tabindex="-1">
    <h3>${step.title}</h3>
    <p class="quiet">${PURPOSE[step.id]}</p>
    ${step.text && html`<p class="step-text">${step.text}</p>`}
    ${!step.text && (step.state === "none" || step.state === "skipped") && html`<p>It ${SAID[step.state].replace("not reached", "was not reached")}.</p>`}
    <${Content} step=${step} pages=${pages} found=${found} ...${rest} />
  </section>`;
}

function Content({ step, pages, found, ...rest }) {
  if (step.id === "filter" || step.id === "predicates") {
    return html`<${FilterStep} pages=${pages} ...${rest} /><${Extenders} extenders=${found.extenders} part="filter" error=${found.error} />`;
  }
  if (step.id in MODES) {
    if (!found.fits && !found.error) return null;
    if (found.error) return step.state === "stopped" ? html`<${Extenders} extenders=${found.extenders} part="score" error=${found.error} />` : null;
    return html`${step.id === "select" && html`<${Ties} ties=${found.ties} />`}
      <${ScoreStep} key=${step.id} pages=${pages} start=${MODES[step.id]} ...${rest} />
      <${Extenders} extenders=${found.extenders} part="score" />`;
  }
  if (step.id === "postFilter" || step.id === "preemption") return html`<${Preemption} preemption=${found.preemption} />`;
  return null;
}

// Above a decision in a simulation: which moment it is of, and the ways on from there.

// Makes the cluster as it was before an attempt the scene's.
export async function forkAt({ side, attempt }) {
  const done = await edit({ do: "fork", side, attempt });
  if (done) moment.value = null;
  return done;
}

export function Moment({ then }) {
  if (!then) return null;
  return html`<p class="toolbar panel moment" role="status">
    <span>As it was at <b>${then.t} s</b> of the simulation, before this attempt of ${then.key}.</span>
    <span class="push actions">
      <button type="button" onClick=${() => (screen.value = "time")}>Back to Time</button>
      ${live() ? html`<button type="button" class="primary" onClick=${() => forkAt(then)}>Fork from here</button>` : null}
    </span>
  </p>`;
}

// The decision in two lines.

export function Outcome({ found }) {
  const { pod, host, nominated, message, error, tried, fits, nodesTotal, notes } = found;
  return html`<header class="outcome">
    <h2>
      <span class="mono">${pod}</span>
      ${
        host
          ? html` <span class="fits">✓ goes to <strong>${host}</strong></span>`
          : html` <span class="refused">${error && tried ? "! the attempt failed" : "✗ stays pending"}</span>`
      }
    </h2>
    <p class="quiet">
      ${side.value.name || side.value.release}: ${
        !tried
          ? `nobody looked at the nodes: ${message}`
          : error
          ? `an error ended the attempt, which says nothing of whether nodes fit: ${error}`
          : `${fits} of ${nodesTotal} nodes fit${nominated ? `; nominated to ${nominated}` : ""}.${host ? "" : ` ${message}`}`
      }
    </p>
    ${notes.map((text) => html`<p class="quiet">${text}</p>`)}
    ${side.value.extendersPassed && html`<${Passed} side=${side.value.id} />`}
  </header>`;
}

// Extenders of a scene that somebody shared are asked when a person says so.
function Passed({ side }) {
  const ask = () => edit({ do: "askExtenders", side, on: true });
  return html`<p class="quiet">
    Its extenders are not asked: every node fits, and none has their scores.
    ${live() && html` <button type="button" class="plain" onClick=${ask}>Ask them</button>`}
  </p>`;
}

// Beside the matrix: the evidence of the cell that was chosen, or of the whole node.

// chosen: {node, kind: "check" | "rule", id | null}
export function EvidencePane({ chosen, onClose }) {
  const { node, kind, id } = chosen;
  const narrowed = id ? { [kind]: id } : {};
  const known = useAnswer("why", { side: side.value.id, node, ...narrowed }, { slot: "why" });
  const from = useRef(null);
  useLayoutEffect(() => {
    from.current = document.activeElement;
  }, [node, id]);
  const close = () => {
    onClose();
    from.current?.focus?.();
  };
  const keys = (event) => event.key === "Escape" && close();
  return html`<aside class=${id ? "evidence-pane one" : "evidence-pane"} aria-label="Evidence" onKeyDown=${keys}>
    <header>
      <h3>${id ?? node}<small class="quiet">${id ? ` on ${node}` : ""}</small></h3>
      <${IconButton} name="close" label="Close the evidence" onClick=${close} />
    </header>
    <${Answered} known=${known} text="Asking for the evidence">
      ${(answer) => html`<${Said} answer=${answer} kind=${kind} id=${id} />`}
    </${Answered}>
  </aside>`;
}

function Said({ answer, kind, id }) {
  const checks = kind === "check" || !id ? answer.refusals : [];
  const refusing = checks.filter((each) => each.refuses !== false);
  const passing = checks.filter((each) => each.refuses === false);
  const scores = kind === "rule" || !id ? answer.scores : [];
  const text = refusing.length ? refusing.map((each) => each.reason).join("; ") : scores.length === 1 ? `${scores[0].product}` : "passes";
  useEffect(() => announce(`${id ?? answer.node}: ${text}`), [answer]);
  return html`
    ${refusing.map((each) => html`<${Refusal} refusal=${each} />`)}
    ${kind === "check" && !refusing.length && html`<p class="fits">✓ ${id ? `${id} does not refuse ${answer.node}.` : `${answer.node} fits.`}</p>`}
    ${passing.map((each) => html`<${Passing} check=${each} />`)}
    ${scores.map((each) => html`<${Formula} score=${each} />`)}
    ${kind === "rule" && !scores.length && html`<p class="quiet">There is no score for this node.</p>`}
  `;
}

function Passing({ check }) {
  return html`<article class="evidence">
    ${check.text && html`<p>${check.text}</p>`}
    <${Facts} facts=${check.facts} caption=${`What ${check.rule} looked at`} />
    <${RuleLinks} rule=${check.rule} upstream=${check.upstream} />
  </article>`;
}
