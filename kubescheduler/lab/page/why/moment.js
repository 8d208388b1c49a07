// Above a decision in a simulation: which moment it is of, and the ways on from there.

import { edit, live } from "../api.js";
import { moment, screen } from "../store.js";
import { html } from "../ui.js";

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
