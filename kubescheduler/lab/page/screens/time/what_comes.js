// What the simulation begins with besides the pods that wait: manifests that come at a time and stay for a while.

import { live } from "../../api.js";
import { Editor } from "../../components/editor.js";
import { html, useState } from "../../ui.js";

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

export function WhatComes({ asked, setAsked, open }) {
  const [text, setText] = useState(asked.workload);
  const [until, setUntil] = useState(asked.until ?? "");
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
      <${Editor} label="Workload" value=${text} onInput=${setText} />
      <div class="actions">
        <label class="field until"><span>End after, seconds</span>
          <input type="number" min="0" step="any" value=${until} onInput=${(event) => setUntil(event.target.value)} />
        </label>
        <button class="primary">Run</button>
        ${text ? null : html`<button type="button" onClick=${() => setText(EXAMPLE)}>Begin with an example</button>`}
      </div>
    </form>
  </details>`;
}
