// Hints by size: what changes, where the pod then goes, and Apply.

import { edit, live } from "../../api.js";
import { Empty } from "../../components/states.js";
import { html, useState } from "../../ui.js";

const NOUNS = { pod: "the pod", node: "a node", configuration: "the configuration", pods: "running pods" };

function Changes({ hint }) {
  const changes = hint.changes.length > 1 ? hint.changes : [];
  return html`
    <p class="what">${hint.text}</p>
    ${changes.length
      ? html`<ul class="changes">
          ${changes.map(
            (each) => html`<li>
              <span class="chip">${NOUNS[each.target] ?? each.kind}</span> ${each.text}
            </li>`,
          )}
        </ul>`
      : null}
  `;
}

function Hint({ hint }) {
  const [applying, setApplying] = useState(false);
  const apply = async () => {
    setApplying(true);
    await edit(hint.edit);
    setApplying(false);
  };
  return html`<li class="hint panel">
    <span class="place" aria-label=${`Hint ${hint.rank}`}>${hint.rank}</span>
    <div class="changed"><${Changes} hint=${hint} /></div>
    <p class="goes">
      ${hint.changes.length === 1 ? html`<span class="chip">${NOUNS[hint.changes[0].target] ?? hint.changes[0].kind}</span> ` : null}
      <span class="sign fits" aria-hidden="true">✓</span> then goes to <b>${hint.host}</b>
      ${hint.alike?.length ? html` <small class="quiet">alike: ${hint.alike.join(", ")}</small>` : null}
      ${hint.victims?.length ? html` <small class="refused">evicts ${hint.victims.join(", ")}</small>` : null}
    </p>
    <button
      type="button"
      class="primary"
      disabled=${applying || !live()}
      aria-label=${`Apply hint ${hint.rank}: ${hint.text}`}
      onClick=${apply}
    >
      Apply
    </button>
  </li>`;
}

export function HintList({ answer, more, top }) {
  if (!answer.hints.length) {
    return html`<${Empty} title=${answer.reached ? "Nothing has to change" : "No hint"}>
      <p>${answer.text}</p>
      ${answer.searched?.length && !answer.reached ? html`<p>Searched: ${answer.searched.join(", ")}.</p>` : null}
    </${Empty}>`;
  }
  return html`
    <p class="quiet" role="status">
      ${answer.hints.length} ${answer.hints.length === 1 ? "way" : "ways"}, the smallest change first. Each was made in a copy of the
      cluster and the pod decided again.
    </p>
    ${answer.text ? html`<p class="quiet">${answer.text}</p>` : null}
    <ol class="hint-list">
      ${answer.hints.map((hint) => html`<${Hint} key=${hint.text} hint=${hint} />`)}
    </ol>
    ${answer.hints.length >= top ? html`<p><button type="button" onClick=${more}>Show more</button></p>` : null}
    ${answer.searched?.length
      ? html`<details><summary>What was searched</summary><p class="quiet">${answer.searched.join(", ")}</p></details>`
      : null}
  `;
}
