// One scheduler: its name, release and configuration, and what can be done with it.

import { edit, live } from "../../api.js";
import { openDialog } from "../../components/dialog.js";
import { Icon } from "../../components/icons.js";
import { Menu } from "../../components/menu.js";
import { screen, sideId, state } from "../../store.js";
import { html } from "../../ui.js";
import { NameSide } from "./name_side.js";

const KINDS = { provider: "provider", policy: "Policy", config: "configuration" };

function described(side) {
  if (side.kind === "provider") return side.text ? `provider ${side.text}` : "default configuration";
  return KINDS[side.kind];
}

function things(side, sides) {
  const others = sides.filter((each) => each.id !== side.id);
  return [
    { text: "Rename …", run: () => openDialog(() => html`<${NameSide} side=${side} />`) },
    { text: "Tune it", run: () => ((sideId.value = side.id), (screen.value = "tune")) },
    ...others.map((other) => ({
      text: `Migrate ${side.name} to ${other.name}`,
      quiet: `Replaces what ${other.name} is configured by`,
      disabled: side.release === other.release,
      run: () => edit({ do: "migrateSide", from: side.id, to: other.id }),
    })),
    { text: "Remove", danger: true, disabled: sides.length < 2, run: () => edit({ do: "removeSide", side: side.id }) },
  ];
}

export function SideHead({ side, sides }) {
  const releases = state.value.releases;
  const change = (event) => edit({ do: "release", side: side.id, release: event.target.value });
  return html`<li class="side-head panel" data-side=${side.id}>
    <h2>
      <span class="letter" aria-hidden="true">${side.id}</span>
      <span class="name">${side.name}</span>
      ${live()
        ? html`<${Menu} label=${`What to do with ${side.name}`} items=${things(side, sides)}><${Icon} name="more" /></${Menu}>`
        : null}
    </h2>
    <p class="described">
      <label>
        <span class="unseen">Release of ${side.name}</span>
        <select value=${side.release} disabled=${!live()} onChange=${change}>
          ${releases.map((each) => html`<option value=${each} selected=${each === side.release}>release ${each}</option>`)}
        </select>
      </label>
      <span class="quiet">${described(side)}</span>
    </p>
    ${side.problems.map((text) => html`<p class="refused"><span aria-hidden="true">✗</span> ${text}</p>`)}
    ${side.notes.length
      ? html`<details><summary>${side.notes.length} ${side.notes.length === 1 ? "note" : "notes"}</summary>
          <ul>${side.notes.map((text) => html`<li class="quiet">${text}</li>`)}</ul>
        </details>`
      : null}
  </li>`;
}
