// A simulation of the scene on a scrubber: what is in use, who waits for what, every attempt.

import { live, useAnswer } from "../api.js";
import { IconButton } from "../components/controls.js";
import { Editor } from "../components/editor.js";
import { Faults, Loading } from "../components/states.js";
import { inTab } from "../kept_scene.js";
import { announce, side, tab } from "../store.js";
import { classes, html, useEffect, useLeaving, useRef, useSheet, useState } from "../ui.js";
import { forkAt } from "../why/steps.js";
import { LANES, Lanes, openWhy, seconds, Utilisation } from "./time/charts.js";

// Where one is in time: a slider, the attempt before and after, and play.

const WHOLE = 12_000;

// Moves through the whole run in a few seconds; with reduced motion from attempt to attempt.
function usePlay(run, now, setNow) {
  const [playing, setPlaying] = useState(false);
  const at = useRef(now);
  at.current = now;
  useEffect(() => {
    if (!playing) return;
    const begun = performance.now();
    const from = at.current >= run.duration ? 0 : at.current;
    let frame;
    const step = (time) => {
      const next = from + ((time - begun) / WHOLE) * run.duration;
      setNow(Math.min(next, run.duration));
      if (next >= run.duration) setPlaying(false);
      else frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [playing, run]);
  return [playing, () => setPlaying(!playing)];
}

function Scrubber({ run, now, setNow }) {
  const [playing, toggle] = usePlay(run, now, setNow);
  const times = [...new Set(run.attempts.map((each) => each.t))];
  const before = times.findLast((time) => time < now);
  const after = times.find((time) => time > now);
  const go = (time) => {
    if (time === undefined) return;
    setNow(time);
    const here = run.attempts.filter((each) => each.t === time);
    announce(`${seconds(time)}: ${here.map((each) => `${each.pod} ${each.result}${each.node ? ` ${each.node}` : ""}`).slice(0, 3).join(", ")}`);
  };
  return html`<div class="scrubber" role="group" aria-label="Where in time">
    <${IconButton} name="previous" label="To the attempt before" aria-disabled=${before === undefined} onClick=${() => go(before)} />
    <${IconButton} name=${playing ? "pause" : "play"} label=${playing ? "Pause" : "Play"} onClick=${toggle} />
    <${IconButton} name="next" label="To the next attempt" aria-disabled=${after === undefined} onClick=${() => go(after)} />
    <input
      type="range"
      aria-label="Time"
      min="0"
      max=${run.duration || 1}
      step=${(run.duration || 1) / 500}
      value=${now}
      aria-valuetext=${`${seconds(now)} of ${seconds(run.duration)}`}
      onInput=${(event) => setNow(event.target.valueAsNumber)}
    />
    <output>${seconds(now)} <span class="quiet">of ${seconds(run.duration)}</span></output>
  </div>`;
}

// Every attempt as a table, from the moment of the scrubber on, with the way to its decision.

const ROWS = 60;
const SIGNS = { placed: "✓", failed: "✗", preempts: "◆" };

function Attempt({ each, side, now, setNow }) {
  return html`<tr class=${classes(each.t <= now && "past")}>
    <td class="number"><button type="button" class="plain" title="Go to this moment" onClick=${() => setNow(each.t)}>${seconds(each.t)}</button></td>
    <th scope="row">${each.pod}</th>
    <td>
      <span class=${each.result === "placed" ? "fits" : "refused"}><span aria-hidden="true">${SIGNS[each.result]}</span> ${each.result}</span>
      ${each.node ? html` <b>${each.node}</b>` : null}
      ${each.text ? html`<small class="quiet">${each.text}</small>` : null}
    </td>
    <td class="actions">
      <button type="button" aria-label=${`Why, attempt of ${each.pod} at ${seconds(each.t)}`} onClick=${() => openWhy(side, each)}>Why</button>
      ${live()
        ? html`<button type="button" aria-label=${`Fork before the attempt of ${each.pod} at ${seconds(each.t)}`} onClick=${() => forkAt({ side, attempt: each.id })}>Fork</button>`
        : null}
    </td>
  </tr>`;
}

function Attempts({ run, now, setNow }) {
  const [find, setFind] = useState("");
  const [from, setFrom] = useState(0);
  const found = run.attempts.filter((each) => each.pod.includes(find));
  const first = Math.min(from, Math.max(0, found.length - 1));
  const shown = found.slice(first, first + ROWS);
  const here = () => setFrom(Math.max(0, found.findIndex((each) => each.t >= now)));
  return html`<section class="attempts" aria-labelledby="attempts-title">
    <div class="toolbar">
      <h2 id="attempts-title">Attempts <span class="count">${found.length}</span></h2>
      <input type="search" aria-label="Find attempts by pod" placeholder="pod" value=${find} onInput=${(event) => (setFind(event.target.value), setFrom(0))} />
      ${found.length > ROWS
        ? html`<span class="push actions">
            <button type="button" disabled=${first === 0} onClick=${() => setFrom(Math.max(0, first - ROWS))}>Earlier</button>
            <button type="button" onClick=${here}>At the scrubber</button>
            <button type="button" disabled=${first + ROWS >= found.length} onClick=${() => setFrom(first + ROWS)}>Later</button>
          </span>`
        : null}
    </div>
    <div class="table" tabindex="0" role="group" aria-label="Attempts">
      <table>
        <caption class="unseen">Attempts to schedule, by time</caption>
        <thead><tr><th scope="col" class="number">Time</th><th scope="col">Pod</th><th scope="col">Result</th><th scope="col"><span class="unseen">Look</span></th></tr></thead>
        <tbody>${shown.map((each) => html`<${Attempt} key=${each.id} each=${each} side=${run.side} now=${now} setNow=${setNow} />`)}</tbody>
      </table>
    </div>
  </section>`;
}

// Who is in which queue at the moment of the scrubber, once all that happens then has happened: each pod in one at most.

const CHIPS = 12;

function here(stay, now) {
  return stay.from <= now && (stay.to === null || now < stay.to);
}

function Now({ run, now }) {
  const lanes = Object.keys(LANES)
    .map((name) => [name, (run.lanes[name] ?? []).filter((stay) => here(stay, now))])
    .filter(([, stays]) => stays.length);
  return html`<section class="at-now" aria-label=${`At ${seconds(now)}`}>
    <h2>At ${seconds(now)}</h2>
    <p class="quiet">Once what happens then has happened.</p>
    ${lanes.length
      ? html`<dl>
          ${lanes.map(
            ([name, stays]) => html`<dt>${LANES[name]} <span class="count">${stays.length}</span></dt>
              <dd>
                ${stays.slice(0, CHIPS).map((stay) => html`<span class="chip">${stay.pod}</span> `)}
                ${stays.length > CHIPS ? html`<span class="quiet">and ${stays.length - CHIPS} more</span>` : null}
              </dd>`,
          )}
        </dl>`
      : html`<p class="quiet">No pod waits.</p>`}
  </section>`;
}

// What the simulation begins with besides the pods that wait: manifests that come at a time and stay for a while.

const EXAMPLE = `apiVersion: batch/v1
kind: Job
metadata:
  name: nightly
spec:
  completions: 6
  parallelism: 6
  template:
    metadata:
      annotations:
        kubescheduler/arrives-after: "30"
        kubescheduler/duration: 2m
    spec:
      containers:
      - name: main
        image: pause
        resources: {requests: {cpu: "1", memory: 1Gi}}
`;

function WhatComes({ asked, setAsked, open }) {
  const [{ text, until }, setTyped] = useState(kept.typed ?? { text: asked.workload, until: asked.until ?? "" });
  const type = (more) => {
    kept.typed = { text, until, ...more };
    setTyped(kept.typed);
  };
  const run = (event) => {
    event.preventDefault();
    setAsked({ workload: text.trim() ? text : "", until: Number(until) > 0 ? Number(until) : null });
  };
  if (!live()) return null;
  return html`<details class="what-comes" open=${open || null}>
    <summary>What comes <span class="quiet">${asked.workload ? "the pods that wait, and a workload" : "the pods that wait"}</span></summary>
    <form class="form" onSubmit=${run}>
      <p class="quiet">
        Manifests of pods and controllers; annotations <code>kubescheduler/arrives-after</code> and <code>kubescheduler/duration</code> say
        when they come and how long they stay.
      </p>
      <${Editor} label="Workload" value=${text} onInput=${(text) => type({ text })} />
      <div class="actions">
        <label class="field until"><span>End after, seconds</span>
          <input type="number" min="0" step="any" value=${until} onInput=${(event) => type({ until: event.target.value })} />
        </label>
        <button class="primary">Run</button>
        ${text ? null : html`<button type="button" onClick=${() => type({ text: EXAMPLE })}>Begin with an example</button>`}
      </div>
    </form>
  </details>`;
}

useSheet("style/time.css");

// The simulation, and what is typed for the next, are the same when one comes back to them, also after a reload.
const KEY = "lab-time";
const kept = { asked: { workload: "", until: null }, now: 0 };
const before = JSON.parse(inTab(KEY));
if (live() && before?.tab === tab.value) Object.assign(kept, before);

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
  useLeaving(() => live() && inTab(KEY, JSON.stringify({ ...kept, tab: tab.value })));
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
