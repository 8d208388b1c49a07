// The pods, those that differ first, with where each side puts them and the cause.

import { edit, live } from "../../api.js";
import { asked } from "../../store.js";
import { html, useState } from "../../ui.js";
import { PodDecisions } from "./pod_decisions.js";

function Summary({ answer, sides }) {
  const name = (id) => sides.find((each) => each.id === id)?.name ?? id;
  return html`<div class="compare-summary">
    <p role="status"><b>${answer.text}</b></p>
    ${Object.entries(answer.summary).map(([id, causes]) =>
      causes.length
        ? html`<p key=${id}>
            <span class="letter" aria-hidden="true">${id}</span> ${name(id)}:
            ${causes.map(
              (each) => html` <span class="chip accent" title=${each.meaning}>${each.name} <b>${each.pods}</b></span>`,
            )}
          </p>`
        : null,
    )}
    ${answer.notes.map((text) => html`<p class="quiet">${text}</p>`)}
  </div>`;
}

function Place({ outcome, base }) {
  if (!outcome) return html`<span class="quiet">–</span>`;
  const moved = base && outcome.host !== base.host;
  return html`
    <span class=${moved ? "host moved" : "host"}>
      ${moved ? html`<span class="sign" aria-hidden="true">≠</span><span class="unseen">differs: </span>` : null}
      ${outcome.host ? html`<b>${outcome.host}</b>` : html`<span class="refused">✗ ${outcome.error ? "error" : "fits nowhere"}</span>`}
    </span>
    <small class="quiet">
      ${outcome.host
        ? `${outcome.total === null ? "" : `total ${outcome.total}, `}${outcome.fits} of ${outcome.nodes} fit${outcome.ties > 1 ? `, ${outcome.ties} tied` : ""}`
        : outcome.error || outcome.message}
    </small>
    ${outcome.evicts.length ? html`<small class="refused">evicts ${outcome.evicts.join(", ")} from ${outcome.evictsFrom}</small>` : null}
  `;
}

function Pod({ pod, sides, first }) {
  const [open, setOpen] = useState(false);
  const causes = pod.causes.filter((each) => each.text);
  const show = () => {
    if (!open && live() && asked.value?.key !== pod.pod) edit({ do: "ask", pod: pod.pod }, { quiet: true });
    setOpen(!open);
  };
  return html`<tbody class=${pod.differs ? "compared differs" : "compared"}>
    <tr>
      <th scope="row">
        <button type="button" class="plain" aria-expanded=${open} onClick=${show}>${pod.pod}</button>
        ${pod.runsOn ? html`<small class="quiet">runs on ${pod.runsOn}</small>` : null}
      </th>
      ${sides.map((side) => html`<td data-label=${side.name}><${Place} outcome=${pod.outcomes[side.id]} base=${side === first ? null : pod.outcomes[first.id]} /></td>`)}
    </tr>
    ${causes.length && pod.differs
      ? html`<tr class="causes">
          <td colspan=${sides.length + 1}>
            <ul>
              ${causes.map(
                (each) => html`<li>
                  <span class="letter" aria-hidden="true">${each.side}</span>
                  <span class="chip accent" title=${each.meaning}>${each.name}</span> ${each.text}
                </li>`,
              )}
            </ul>
          </td>
        </tr>`
      : null}
    ${open
      ? html`<tr class="detail"><td colspan=${sides.length + 1}><${PodDecisions} pod=${pod.pod} sides=${sides} /></td></tr>`
      : null}
  </tbody>`;
}

export function ComparedPods({ answer, sides }) {
  const [every, setEvery] = useState(false);
  const differing = answer.pods.filter((pod) => pod.differs);
  const same = answer.pods.filter((pod) => !pod.differs);
  const known = sides.filter((side) => answer.sides.includes(side.id));
  const shown = every || !differing.length ? [...differing, ...same] : differing;
  if (!answer.pods.length) return html`<p class="quiet">${answer.text}</p>`;
  return html`
    <${Summary} answer=${answer} sides=${sides} />
    <div class="table" tabindex="0" role="group" aria-label="Pods compared">
      <table class="compared-pods">
        <caption class="unseen">Where each scheduler puts each pod, those that differ first</caption>
        <thead>
          <tr><th scope="col">Pod</th>${known.map((side) => html`<th scope="col">${side.name}</th>`)}</tr>
        </thead>
        ${shown.map((pod) => html`<${Pod} key=${pod.pod} pod=${pod} sides=${known} first=${known[0]} />`)}
      </table>
    </div>
    ${differing.length && same.length
      ? html`<p>
          <button type="button" aria-pressed=${every} onClick=${() => setEvery(!every)}>
            ${every ? "Only those that differ" : `Also the ${same.length} that ${same.length === 1 ? "is" : "are"} the same`}
          </button>
        </p>`
      : null}
  `;
}
