// Two to four schedulers on the same cluster and pods: which pods go elsewhere, and why.

import { useAnswer } from "../api.js";
import { Answered, Empty } from "../components/states.js";
import { openDialog } from "../components/dialog.js";
import { live } from "../api.js";
import { state } from "../store.js";
import { html, useState, useSheet } from "../ui.js";
import { AddSide } from "./sides/add_side.js";
import { ComparedPods } from "./sides/compared_pods.js";
import { SideHead } from "./sides/side_head.js";

export const title = "Side by side";

useSheet("style/sides.css");

const MOST = 4;
const MODES = { independent: "Each pod alone", sequence: "One after the other" };
const MEANT = {
  independent: "Each pod is decided on the cluster as it is.",
  sequence: "Each scheduler goes on from where it has put the pods before.",
};
const RUNNING = "Each is taken out of the cluster, decided anew on every side, and put back.";
const MOVING = "Each is taken out of the cluster and decided anew; on every side the next finds it where it went.";

function Choices({ mode, setMode, pods, setPods }) {
  const choice = (name, value, set, options) =>
    html`<fieldset class="segments">
      <legend class="unseen">${name}</legend>
      ${Object.entries(options).map(
        ([key, text]) =>
          html`<label><input type="radio" name=${name} checked=${key === value} onChange=${() => set(key)} /><span>${text}</span></label>`,
      )}
    </fieldset>`;
  return html`${choice("Pods compared", pods, setPods, { pending: "Pending pods", running: "Running pods", asked: "The pod asked about" })}
    ${choice("How pods are decided", mode, setMode, MODES)}`;
}

export default function Sides() {
  const sides = state.value?.sides ?? [];
  const [mode, setMode] = useState("independent");
  const [pods, setPods] = useState("pending");
  const known = useAnswer("sides", { mode, pods }, { when: sides.length > 1 });
  const add = () => openDialog(() => html`<${AddSide} sides=${sides} />`);
  return html`<div class="sides-screen">
    <ul class="side-heads" aria-label="Schedulers" data-count=${sides.length}>
      ${sides.map((side) => html`<${SideHead} key=${side.id} side=${side} sides=${sides} />`)}
      ${sides.length < MOST && live()
        ? html`<li class="side-add"><button type="button" onClick=${add}>+ Add a scheduler</button></li>`
        : null}
    </ul>
    ${sides.length < 2
      ? html`<${Empty} title="One scheduler so far">
          <p>Add another release, or another configuration of this one, and what they do differently stands here with its cause.</p>
        </${Empty}>`
      : html`
          <div class="toolbar"><${Choices} mode=${mode} setMode=${setMode} pods=${pods} setPods=${setPods} /></div>
          <p class="quiet">${pods !== "running" ? MEANT[mode] : mode === "sequence" ? MOVING : RUNNING}</p>
          <${Answered} known=${known} text="Deciding on every side">
            ${(answer) => html`<${ComparedPods} answer=${answer} sides=${sides} />`}
          </${Answered}>
        `}
  </div>`;
}
