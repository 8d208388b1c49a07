// Dialogs in which a node, a rule or a verdict is looked at, and a place chosen.

import { edit, editOrFault, live, useAnswer } from "../api.js";
import { nodeActions, podActions, showWhy } from "../cluster/actions.js";
import { Find, rest, rove } from "../components/controls.js";
import { closeDialog, Dialog } from "../components/dialog.js";
import { Refusal } from "../components/evidence.js";
import { Markdown } from "../components/markdown.js";
import { Answered, Empty, Faults, Loading } from "../components/states.js";
import { Bar, DataTable } from "../components/tables.js";
import { openLater } from "../dialogs.js";
import { verdictText } from "../drag.js";
import { asked, side } from "../store.js";
import { classes, html, useState } from "../ui.js";

// A release that cannot read what the side is described by: why, and what migrating makes of it instead.

export function Migrated({ side, release, problems }) {
  const [found, setFound] = useState(null);
  const migrate = async () => {
    try {
      await editOrFault({ do: "release", side, release, migrated: true });
      closeDialog();
    } catch (fault) {
      if (!fault.problems) throw fault;
      setFound(fault.problems);
    }
  };
  return html`<${Dialog} title=${`Release ${release} cannot read this`}>
    <ul class="problems">${problems.map((text) => html`<li><span class="sign" aria-hidden="true">✗</span> ${text}</li>`)}</ul>
    ${found ? html`<${Faults} title="It cannot be migrated either" problems=${found} />` : null}
    <p class="actions">
      ${found ? null : html`<button type="button" class="primary" data-focus onClick=${migrate}>Use what migrating makes of it</button>`}
      <button type="button" onClick=${closeDialog}>Leave it</button>
    </p>
  </${Dialog}>`;
}

// The keyboard's form of a drag: the nodes as a list, with what the scheduler says of the one in focus.

const MOST = 60;

// chosen(node, verdict): what a choice does instead of binding the pod there. node: where it is.
// silent: the scheduler's word is not shown.
export function MoveTo({ pod, node = null, title = null, chosen = null, silent = false }) {
  const [find, setFind] = useState("");
  const [looked, look] = useState(null);
  const nodes = useAnswer("cluster", { side: side.value.id, from: 0, to: MOST, find, pod }, { slot: "move" });
  const verdict = useAnswer("whatif", { side: side.value.id, node: looked, pod }, { slot: "whatif", when: looked !== null && !silent });
  const current = verdict.answer?.node === looked ? verdict.answer : null;
  const take = (name) => {
    closeDialog();
    if (chosen) chosen(name, current);
    else if (current?.node === name && current.fits) edit({ do: "bind", pod, node: name });
    else openLater("verdict", { pod, node: name });
  };
  return html`<${Dialog} title=${title ?? `Move ${pod} to …`} onKeyDown=${enter}>
    <${Find} find=${find} onFind=${setFind} label="Find nodes by name" data-focus />
    <p class=${classes("verdict-line", current && (current.fits ? "fits" : "refused"))} role="status">
      ${current ? verdictText(current) : looked && !silent ? `${looked} …` : "The arrow keys walk through the nodes."}
    </p>
    <${Answered} known=${nodes}>
      ${(answer) => html`<${Nodes} answer=${answer} here=${node} silent=${silent} onLook=${look} onTake=${take} />`}
    </${Answered}>
  </${Dialog}>`;
}

// From anywhere else in the dialog the arrows lead into the list.
function enter(event) {
  const list = event.currentTarget.querySelector(".node-choices");
  if (!list || list.contains(event.target) || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  event.preventDefault();
  const parts = list.querySelectorAll("[data-rove]");
  parts[event.key === "ArrowDown" ? 0 : parts.length - 1].focus();
}

const VERDICTS = new Map([
  [true, ["✓", "fits", "fits"]],
  [false, ["✗", "refused", "does not fit"]],
]);

function SaidOfNode({ fits }) {
  const [sign, name, text] = VERDICTS.get(fits) ?? [];
  return sign ? html`<span class=${`sign ${name}`}><span aria-hidden="true">${sign}</span><span class="unseen">${text}</span></span> ` : null;
}

function Nodes({ answer, here, silent, onLook, onTake }) {
  if (!answer.total) return html`<p class="quiet">No node has that in its name.</p>`;
  return html`<ul class="node-choices" aria-label="Nodes" onKeyDown=${rove} onFocusIn=${rest}>
      ${answer.nodes.map(
        (node, at) => html`<li key=${node.name}>
          <button
            type="button"
            data-rove
            tabindex=${at === 0 ? 0 : -1}
            onFocus=${() => onLook(node.name)}
            onPointerEnter=${() => onLook(node.name)}
            onClick=${() => onTake(node.name)}
            aria-disabled=${node.name === here}
          >
            ${silent ? null : html`<${SaidOfNode} fits=${node.fits} />`}<strong>${node.name}</strong> <span class="quiet">${node.zone}${node.name === here ? ", it is here" : ""}</span>
          </button>
        </li>`,
      )}
    </ul>
    ${answer.total > MOST && html`<p class="quiet">and ${answer.total - MOST} more: find them by name</p>`}`;
}

// Everything about one node: amounts, pods, labels, taints, conditions.

export function NodeDetails({ name }) {
  const known = useAnswer("cluster", { side: side.value.id, from: 0, to: 50, find: name }, { slot: "details" });
  const node = known.answer?.nodes.find((each) => each.name === name);
  return html`<${Dialog} title=${name} wide>
    ${known.problems && html`<${Faults} problems=${known.problems} />`}
    ${!known.answer && !known.problems && html`<${Loading} text="Reading it" />`}
    ${known.answer && !node && html`<${Empty} title="This node is gone" />`}
    ${node && html`<${Node} node=${node} />`}
  </${Dialog}>`;
}

function Node({ node }) {
  const act = (item) => () => {
    closeDialog();
    item.run();
  };
  return html`
    <div class="chips">
      <span class="chip">zone ${node.zone || "–"}</span>
      ${node.cordoned && html`<span class="chip warn">‖ cordoned</span>`}
      ${node.conditions.map((text) => html`<span class="chip refuse">! ${text}</span>`)}
      ${node.taints.map((text) => html`<span class="chip warn">taint ${text}</span>`)}
    </div>
    <div>${node.resources.map((each) => html`<${Bar} resource=${each} />`)}</div>
    <${DataTable} caption="Resources" columns=${AMOUNTS} rows=${node.resources} rowKey=${(row) => row.name} />
    ${
      live() &&
      html`<p class="actions">
        ${nodeActions(node).map((item) => html`<button type="button" class=${item.danger ? "danger" : ""} onClick=${act(item)}>${item.text}</button>`)}
      </p>`
    }
    <h3>Pods (${node.podsTotal})</h3>
    ${
      node.podsTotal
        ? html`<${DataTable} caption="Pods on the node" columns=${podColumns(node)} rows=${node.pods} rowKey=${(row) => row.key} />`
        : html`<p class="quiet">None.</p>`
    }
    ${node.podsTotal > node.pods.length && html`<p class="quiet">and ${node.podsTotal - node.pods.length} more</p>`}
    <h3>Labels</h3>
    <div class="chips">${Object.entries(node.labels).map(([key, value]) => html`<span class="chip">${key}=${value}</span>`)}</div>
  `;
}

// What would become of pods without their nodes, as the commands drain and outage say it.

// verb: drained or lost. of: {node} or {zone}
export function Loss({ verb, of }) {
  const known = useAnswer(verb, { side: side.value.id, ...of }, { slot: "loss" });
  const name = of.zone ? `zone ${of.zone}` : of.node;
  return html`<${Dialog} title=${`What if ${name} is ${verb}`} wide>
    <${Answered} known=${known}>${(answer) => html`<${LossAnswer} answer=${answer} />`}</${Answered}>
  </${Dialog}>`;
}

function LossAnswer({ answer }) {
  return html`<div class="loss">
    <p><strong>${answer.headline}</strong></p>
    <p class=${classes("verdict-line", answer.fine ? "fits" : "refused")}>${answer.fine ? "✓" : "✗"} ${answer.status}</p>
    ${answer.sections.map((each) => html`<${LossPart} ...${each} />`)}
    ${answer.notes.map((text) => html`<p class="quiet">! ${text}</p>`)}
    <p class="quiet">The scene stays as it is. The same from the command line: <code>${answer.command}</code></p>
  </div>`;
}

function LossPart({ title, head, rows, more, texts }) {
  const columns = head.map((text, at) => ({ title: text ? capital(text) : html`<span class="unseen">Remark</span>`, head: at === 0, value: (row) => row[at] }));
  return html`<h3>${title}</h3>
    ${rows.length > 0 && html`<${DataTable} caption=${title} columns=${columns} rows=${rows} />`}
    ${more > 0 && html`<p class="quiet">and ${more} more</p>`}
    ${texts.map((text) => html`<p>${text}</p>`)}`;
}

function capital(text) {
  return text.slice(0, 1) + text.slice(1).toLowerCase();
}

const AMOUNTS = [
  { title: "Resource", head: true, value: (row) => row.name },
  { title: "Allocatable", number: true, value: (row) => row.text.allocatable },
  { title: "Used", number: true, value: (row) => row.text.used },
  { title: "This pod asks for", number: true, value: (row) => row.text.ghost },
];

function podColumns(node) {
  const move = (pod) => () => {
    closeDialog();
    podActions({ ...pod, node: node.name })[0].run();
  };
  return [
    { title: "Pod", head: true, value: (row) => row.key },
    { title: "Priority", number: true, value: (row) => row.priority },
    { title: "Owner", value: (row) => row.owner },
    ...(live()
      ? [{ title: "Change", value: (row) => html`<button type="button" class="plain" onClick=${move(row)}>Move to …</button>` }]
      : []),
  ];
}

// What a rule does, in the words of the documentation.

export function Rule({ rule, release }) {
  const known = useAnswer("rule", { release, rule }, { slot: "rule" });
  return html`<${Dialog} title=${rule} wide>
    <${Answered} known=${known} text="Reading its page">${(answer) => html`<${Page} page=${answer} />`}</${Answered}>
  </${Dialog}>`;
}

function Page({ page }) {
  const reasons = Object.entries(page.reasons).map(([text, code]) => ({ text, code }));
  return html`<div class="prose">
    <p class="quiet">A ${page.kind} of ${page.releases.join(" and ")}.</p>
    <${Markdown} text=${page.text} />
    ${page.facts.map((text) => html`<p>${text}</p>`)}
    ${Object.entries(page.differs).map(([other, text]) => html`<p><strong>In ${other}:</strong> ${text}</p>`)}
    ${reasons.length > 0 && html`<h3>Why it refuses</h3><${DataTable} caption="Reasons" columns=${REASONS} rows=${reasons} />`}
    <p class="quiet">The documentation has this in <code>${page.page}</code>.</p>
  </div>`;
}

const REASONS = [
  { title: "Reason", value: (row) => html`<code>${row.text}</code>` },
  { title: "Code", value: (row) => row.code },
];

// What if the pod ran on that node: fits, or every refusal with its evidence.

export function Verdict({ pod, node }) {
  const known = useAnswer("whatif", { side: side.value.id, node, pod }, { slot: "verdict" });
  return html`<${Dialog} title=${`${pod} on ${node}?`} wide>
    <${Answered} known=${known}>
      ${(answer) => html`<${Said} answer=${answer} pod=${pod} node=${node} />`}
    </${Answered}>
  </${Dialog}>`;
}

function Said({ answer, pod, node }) {
  const bind = () => {
    closeDialog();
    edit({ do: "bind", pod, node });
  };
  const why = () => {
    closeDialog();
    showWhy(node);
  };
  return html`
    <p class=${answer.fits ? "fits" : "refused"}>
      <strong>${answer.fits ? "✓ It fits." : "✗ The scheduler would not put it there."}</strong>
    </p>
    ${answer.refusals.map((each) => html`<${Refusal} refusal=${each} />`)}
    <p class="quiet">${answer.host ? `Left to itself, the scheduler puts it on ${answer.host}.` : "It fits on no node now."}</p>
    <p class="actions">
      ${
        live() &&
        html`<button type="button" class=${answer.fits ? "primary" : ""} onClick=${bind}>
          ${answer.fits ? "Bind it there" : "Bind it there anyway"}
        </button>`
      }
      ${asked.value?.key === pod && html`<button type="button" onClick=${why}>See the whole decision</button>`}
      <button type="button" onClick=${closeDialog}>Leave it</button>
    </p>
  `;
}
