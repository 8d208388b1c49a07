// What a step said: the matrix of checks, the scores, the ranking, the preemption, or a sentence.

import { html } from "../ui.js";
import { Extenders } from "./extenders.js";
import { FilterStep } from "./filter_step.js";
import { Preemption } from "./preemption.js";
import { ScoreStep } from "./score_step.js";
import { SAID } from "./steps.js";
import { Ties } from "./ties.js";

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
