// Everything about one node: amounts, pods, labels, taints, conditions.

import { live, useAnswer } from "../api.js";
import { nodeActions } from "../cluster/node_actions.js";
import { podActions } from "../cluster/pod_actions.js";
import { Bar } from "../components/bar.js";
import { DataTable } from "../components/data_table.js";
import { closeDialog, Dialog } from "../components/dialog.js";
import { Empty, Faults, Loading } from "../components/states.js";
import { side } from "../store.js";
import { html } from "../ui.js";

export default function NodeDetails({ name }) {
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
