// Every attempt as a table, from the moment of the scrubber on, with the way to its decision.

import { live } from "../../api.js";
import { classes, html, useState } from "../../ui.js";
import { forkAt } from "../../why/moment.js";
import { openWhy } from "./open_why.js";
import { seconds } from "./scrubber.js";

const SHOWN = 60;
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

export function Attempts({ run, now, setNow }) {
  const [find, setFind] = useState("");
  const [from, setFrom] = useState(0);
  const found = run.attempts.filter((each) => each.pod.includes(find));
  const first = Math.min(from, Math.max(0, found.length - 1));
  const shown = found.slice(first, first + SHOWN);
  const here = () => setFrom(Math.max(0, found.findIndex((each) => each.t >= now)));
  return html`<section class="attempts" aria-labelledby="attempts-title">
    <div class="toolbar">
      <h2 id="attempts-title">Attempts <span class="count">${found.length}</span></h2>
      <input type="search" aria-label="Find attempts by pod" placeholder="pod" value=${find} onInput=${(event) => (setFind(event.target.value), setFrom(0))} />
      ${found.length > SHOWN
        ? html`<span class="push actions">
            <button type="button" disabled=${first === 0} onClick=${() => setFrom(Math.max(0, first - SHOWN))}>Earlier</button>
            <button type="button" onClick=${here}>At the scrubber</button>
            <button type="button" disabled=${first + SHOWN >= found.length} onClick=${() => setFrom(first + SHOWN)}>Later</button>
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
