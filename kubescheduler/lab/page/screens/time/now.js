// Who is in which queue at the moment of the scrubber, once all that happens then has happened: each pod in one at most.

import { html } from "../../ui.js";
import { LANES } from "./lanes.js";
import { seconds } from "./scrubber.js";

const SHOWN = 12;

function here(stay, now) {
  return stay.from <= now && (stay.to === null || now < stay.to);
}

export function Now({ run, now }) {
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
                ${stays.slice(0, SHOWN).map((stay) => html`<span class="chip">${stay.pod}</span> `)}
                ${stays.length > SHOWN ? html`<span class="quiet">and ${stays.length - SHOWN} more</span>` : null}
              </dd>`,
          )}
        </dl>`
      : html`<p class="quiet">No pod waits.</p>`}
  </section>`;
}
