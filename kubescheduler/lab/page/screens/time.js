// A simulation of the scene on a scrubber: what is in use, who waits for what, every attempt.

import { useAnswer } from "../api.js";
import { Faults, Loading } from "../components/states.js";
import { side } from "../store.js";
import { html, useEffect, useState, useSheet } from "../ui.js";
import { Attempts } from "./time/attempts.js";
import { Lanes } from "./time/lanes.js";
import { Now } from "./time/now.js";
import { Scrubber } from "./time/scrubber.js";
import { Utilisation } from "./time/utilisation.js";
import { WhatComes } from "./time/what_comes.js";

export const title = "Time";

useSheet("style/time.css");

// Kept while the page is open: the simulation is the same when one comes back to it.
const kept = { asked: { workload: "", until: null }, now: 0 };

function Run({ run, now, setNow }) {
  return html`
    <p role="status">${run.text}</p>
    ${run.notes.map((text) => html`<p class="quiet">${text}</p>`)}
    ${run.duration
      ? html`<${Scrubber} run=${run} now=${now} setNow=${setNow} />
          <${Utilisation} run=${run} now=${now} setNow=${setNow} />
          <${Lanes} run=${run} now=${now} setNow=${setNow} />`
      : html`<p class="quiet">Every attempt is made at the start, and nothing ends. Let something come later, or stay for a while, under What comes.</p>`}
    <div class="time-below">
      <${Now} run=${run} now=${now} />
      <${Attempts} run=${run} now=${now} setNow=${setNow} />
    </div>
  `;
}

export default function Time() {
  const id = side.value?.id;
  const [asked, setAsked] = useState(kept.asked);
  const [now, setNow] = useState(kept.now);
  useEffect(() => void Object.assign(kept, { asked, now }), [asked, now]);
  const { workload, until } = asked;
  const wanted = { side: id, ...(workload ? { workload } : {}), ...(until ? { until } : {}) };
  const known = useAnswer("time", wanted, { when: Boolean(id) });
  const run = known.answer;
  const shown = run ? Math.min(now, run.duration) : 0;
  return html`<div class="time">
    <${WhatComes} asked=${asked} setAsked=${setAsked} open=${Boolean(known.problems)} />
    ${known.problems ? html`<${Faults} title="Nothing to run" problems=${known.problems} />` : null}
    ${run
      ? html`<${Run} run=${run} now=${shown} setNow=${setNow} />`
      : known.problems
        ? null
        : html`<${Loading} text="Running the simulation" />`}
  </div>`;
}
