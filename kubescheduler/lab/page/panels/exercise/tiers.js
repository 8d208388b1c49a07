// Help in tiers: each is shown when it is asked for, the least first.

import { live } from "../../api.js";
import { Markdown } from "../../markdown/markdown.js";
import { html, useState } from "../../ui.js";

export function Tiers({ exercise, more }) {
  const [asking, setAsking] = useState(false);
  const next = async () => {
    setAsking(true);
    await more();
    setAsking(false);
  };
  const left = exercise.tiersTotal - exercise.tiers.length;
  if (!exercise.tiersTotal) return null;
  return html`<section aria-labelledby="tiers-title" class="tiers">
    <h3 id="tiers-title">Hints <span class="quiet">${exercise.tiers.length} of ${exercise.tiersTotal}</span></h3>
    <ol aria-live="polite">
      ${exercise.tiers.map((text) => html`<li><${Markdown} text=${text} top=${4} /></li>`)}
    </ol>
    ${left > 0 && live()
      ? html`<button type="button" disabled=${asking} onClick=${next}>${exercise.tiers.length ? "One more hint" : "A hint"}</button>`
      : null}
  </section>`;
}
