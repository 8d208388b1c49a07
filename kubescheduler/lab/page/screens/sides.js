// Two to four schedulers on the same cluster and pods: which pods go elsewhere, and why.

import { edit, live, useAnswer } from "../api.js";
import { Choice, Icon, Menu } from "../components/controls.js";
import { EditForm, Field, openDialog, Problems, Select } from "../components/dialog.js";
import { Editor, placed } from "../components/editor.js";
import { Answered, Empty, Notes } from "../components/states.js";
import { asked, screen, side, sideId, state } from "../store.js";
import { html, useSheet, useState } from "../ui.js";

// Asks what the scheduler beside is: another release, a provider, a Policy, a configuration, or a copy.

const WAYS = {
  default: "The release's default",
  copy: "A copy of",
  migrate: "What migrating makes of",
  provider: "An algorithm provider",
  policy: "A Policy",
  config: "A KubeSchedulerConfiguration",
};
const WRITTEN = new Set(["policy", "config"]);

function wanted({ way, release, source, text }) {
  if (way === "migrate") return { do: "migrateSide", from: source, to: release };
  if (way === "copy") return { do: "addSide", release, copy: source };
  return way === "default" ? { do: "addSide", release } : { do: "addSide", release, kind: way, text };
}

// The release before a release, and the one after it, as far as there are.
function neighbours(releases, release) {
  const at = releases.indexOf(release);
  return [releases[at - 1], releases[at + 1]].filter((each) => each !== undefined);
}

function AddSide({ sides }) {
  const releases = state.value.releases;
  const near = neighbours(releases, side.value.release);
  const first = [...near, ...releases].find((each) => sides.every((one) => one.release !== each)) ?? releases.at(-1);
  const [way, setWay] = useState("default");
  const [text, setText] = useState("");
  const options = (list) => list.map((each) => html`<option value=${each} selected=${each === first}>${each}</option>`);
  return html`<${EditForm} title="Add a scheduler" action="Add" build=${(values) => wanted({ text, ...values })} wide=${WRITTEN.has(way)}>
    ${(problems) => html`
      <div class="row">
        <label class="field"><span>Release</span>
          <select name="release">
            <optgroup label=${`Beside ${side.value.release}`}>${options(near)}</optgroup>
            <optgroup label="Others">${options(releases.filter((each) => !near.includes(each)))}</optgroup>
          </select>
        </label>
        <${Select} label="Configured by" name="way" value="default" choices=${Object.entries(WAYS)} onChange=${(event) => setWay(event.target.value)} />
        ${way === "copy" || way === "migrate"
          ? html`<${Select} label="Scheduler" name="source" value=${sides[0].id} choices=${sides.map((each) => [each.id, each.name])} />`
          : null}
        ${way === "provider" ? html`<${Field} label="Provider" name="text" />` : null}
      </div>
      ${WRITTEN.has(way)
        ? html`<${Editor} label=${WAYS[way]} value=${text} onInput=${setText} problems=${problems.map(placed)} />`
        : html`<${Problems} problems=${problems} />`}
    `}
  </${EditForm}>`;
}

// One pod as every side decides it: the best nodes with their totals, side by side.

const BEST = 5;

function Decision({ pod, side }) {
  const wanted = { side: side.id, pod, from: 0, to: BEST, order: "rank" };
  const known = useAnswer("decision", wanted, { slot: `beside ${pod} ${side.id}` });
  return html`<section class="pod-decision" aria-label=${`${pod} as ${side.name} decides it`}>
    <h3>${side.name}</h3>
    <${Answered} known=${known}>
      ${(answer) => html`
        ${answer.host ? null : html`<p class="refused">${answer.message}</p>`}
        <ol>
          ${answer.nodes
            .filter((row) => row.fits)
            .map(
              (row) => html`<li class=${row.chosen ? "chosen" : ""}>
                <span>${row.name}${row.chosen ? " ✓" : ""}</span> <span class="number">${row.total ?? "–"}</span>
              </li>`,
            )}
        </ol>
      `}
    </${Answered}>
  </section>`;
}

function PodDecisions({ pod, sides }) {
  return html`<div class="pod-decisions">${sides.map((side) => html`<${Decision} key=${side.id} pod=${pod} side=${side} />`)}</div>`;
}

// The pods, those that differ first, with where each side puts them and the cause.

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
      ${outcome.host ? html`<b>${outcome.host}</b>` : html`<span class="refused">✗ ${outcome.error ? "error" : outcome.tried === false ? "not tried" : "fits nowhere"}</span>`}
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

function ComparedPods({ answer, sides }) {
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

// Asks for another name of a scheduler.
function NameSide({ side }) {
  return html`<${EditForm} title=${`Rename ${side.name}`} action="Rename" build=${({ name }) => ({ do: "nameSide", side: side.id, name })}>
    <${Field} label="Name" name="name" value=${side.name} />
  </${EditForm}>`;
}

// One scheduler: its name, release and configuration, and what can be done with it.

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

function SideHead({ side, sides }) {
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
    <${Notes} notes=${side.notes} />
  </li>`;
}

useSheet("style/sides.css");

const MOST = 4;
const PODS = [
  ["pending", "Pending pods"],
  ["running", "Running pods"],
  ["asked", "The pod asked about"],
];
const MODES = [
  ["independent", "Each pod alone"],
  ["sequence", "One after the other"],
];
const MEANT = {
  independent: "Each pod is decided on the cluster as it is.",
  sequence: "Each scheduler goes on from where it has put the pods before.",
};
const RUNNING = "Each is taken out of the cluster, decided anew on every side, and put back.";
const MOVING = "Each is taken out of the cluster and decided anew; on every side the next finds it where it went.";

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
          <div class="toolbar">
            <${Choice} name="compared-pods" label="Pods compared" value=${pods} choices=${PODS} onChange=${setPods} />
            <${Choice} name="compared-how" label="How pods are decided" value=${mode} choices=${MODES} onChange=${setMode} />
          </div>
          <p class="quiet">${pods !== "running" ? MEANT[mode] : mode === "sequence" ? MOVING : RUNNING}</p>
          <${Answered} known=${known} text="Deciding on every side">
            ${(answer) => html`<${ComparedPods} answer=${answer} sides=${sides} />`}
          </${Answered}>
        `}
  </div>`;
}
