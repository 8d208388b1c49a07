// Dialogs that change something: nodes and pods that are added, and what can be said of one.

import { edit, live, useAnswer } from "../api.js";
import { IconButton } from "../components/controls.js";
import { Dialog, EditForm, Field, items, pairs, Select } from "../components/dialog.js";
import { Editor, placed } from "../components/editor.js";
import { Faults, Loading } from "../components/states.js";
import { side, state } from "../store.js";
import { html, useState } from "../ui.js";

// A node of a form.

export function AddNode() {
  const build = ({ name, cpu, memory, pods, zone, labels, taints }) => ({
    do: "addNode",
    name: name.trim(),
    cpu,
    memory,
    pods: Number(pods),
    zone: zone.trim(),
    labels: pairs(labels),
    taints: items(taints),
  });
  return html`<${EditForm} title="Add a node" action="Add the node" build=${build}>
    <${Field} label="Name" name="name" value=${`node-${state.value.nodesTotal + 1}`} required data-focus />
    <div class="row">
      <${Field} label="cpu" name="cpu" value="4" hint="4 or 3500m" required />
      <${Field} label="memory" name="memory" value="16Gi" hint="16Gi" required />
      <${Field} label="pods" name="pods" value="110" type="number" min="0" required />
      <${Field} label="Zone" name="zone" hint="may be empty" />
    </div>
    <${Field} label="Labels" name="labels" hint="disk=ssd, team=data" />
    <${Field} label="Taints" name="taints" hint="dedicated=gpu:NoSchedule" />
  </${EditForm}>`;
}

// One pod or several of a form.

export function AddPod() {
  const build = ({ namespace, name, cpu, memory, priority, labels, count }) => ({
    do: "addPod",
    namespace: namespace.trim() || "default",
    name: name.trim(),
    cpu,
    memory,
    priority: Number(priority) || 0,
    labels: pairs(labels),
    count: Number(count),
  });
  return html`<${EditForm} title="Add pods" action="Add" build=${build}>
    <div class="row">
      <${Field} label="Name" name="name" value="web" required data-focus />
      <${Field} label="Namespace" name="namespace" value="default" />
      <${Field} label="How many" name="count" value="1" type="number" min="1" max="500" required />
    </div>
    <div class="row">
      <${Field} label="cpu request" name="cpu" value="500m" hint="empty for none" />
      <${Field} label="memory request" name="memory" value="512Mi" hint="empty for none" />
      <${Field} label="Priority" name="priority" value="0" type="number" />
    </div>
    <${Field} label="Labels" name="labels" hint="app=web, tier=front" />
    <p class="quiet">Affinity, tolerations and the like: add it, then “Edit YAML …” in its menu; or add from YAML.</p>
  </${EditForm}>`;
}

// Any objects from manifests.

const START = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: main
    image: web
    resources:
      requests:
        cpu: 500m
        memory: 512Mi
`;

export function AddYaml() {
  const [text, setText] = useState(START);
  const build = () => ({ do: "addYaml", text });
  return html`<${EditForm} title="Add from YAML" action="Add" build=${build} wide>
    ${(problems) => html`<p class="quiet">Pods, nodes, workloads, volumes, budgets: what kubectl would apply. Several documents are parted by “---”.</p>
    <${Editor} label="Manifests" value=${text} onInput=${setText} problems=${problems.map(placed)} />`}
  </${EditForm}>`;
}

// More nodes like one.

export function CloneNode({ name }) {
  const build = ({ count }) => ({ do: "clone", node: name, count: Number(count) });
  return html`<${EditForm} title=${`Clone ${name}`} action="Clone" build=${build}>
    <${Field} label="How many more" name="count" value="1" type="number" min="1" max="1000" required data-focus />
    <p class="quiet">With its size, labels and taints, and without its pods.</p>
  </${EditForm}>`;
}

// An object of the cluster as YAML, to be changed.

// kind: "pod" | "node"; name: the node's name or the pod's namespace/name
export function EditYaml({ kind, name }) {
  const known = useAnswer(kind, kind === "pod" ? { key: name } : { name }, { slot: "yaml" });
  const [text, setText] = useState(null);
  const written = kind === "pod" ? "Pod" : "Node";
  const title = `${written} ${name}`;
  if (known.problems) return html`<${Dialog} title=${title}><${Faults} problems=${known.problems} /></${Dialog}>`;
  if (!known.answer) return html`<${Dialog} title=${title}><${Loading} text="Reading it" /></${Dialog}>`;
  const editor = (problems) => html`<${Editor} label=${title} value=${text ?? known.answer.yaml} onInput=${setText} readOnly=${!live()} problems=${problems.map(placed)} />`;
  if (!live()) return html`<${Dialog} title=${title} wide>${editor([])}</${Dialog}>`;
  const build = () => ({ do: "editYaml", kind: written, key: name, text: text ?? known.answer.yaml });
  return html`<${EditForm} title=${title} action="Apply" build=${build} wide>${editor}</${EditForm}>`;
}

// Labels of a node: set or removed.

export function Label({ name }) {
  const known = useAnswer("cluster", { side: side.value.id, from: 0, to: 20, find: name }, { slot: "label" });
  const labels = Object.entries(known.answer?.nodes.find((each) => each.name === name)?.labels ?? {});
  const remove = (key) => () => edit({ do: "label", node: name, key, value: null });
  const build = ({ key, value }) => ({ do: "label", node: name, key: key.trim(), value: value.trim() });
  return html`<${EditForm} title=${`Label ${name}`} action="Set the label" build=${build}>
    <ul class="listed" aria-label="Labels it has">
      ${labels.map(
        ([key, value]) => html`<li>
          <code>${key}=${value}</code> <${IconButton} name="close" label=${`Remove ${key}`} onClick=${remove(key)} />
        </li>`,
      )}
    </ul>
    <div class="row">
      <${Field} label="Key" name="key" required data-focus choices=${labels.map(([key]) => key)} />
      <${Field} label="Value" name="value" />
    </div>
  </${EditForm}>`;
}

// What a node has to give.

export function Resize({ name }) {
  const known = useAnswer("cluster", { side: side.value.id, from: 0, to: 20, find: name }, { slot: "resize" });
  const node = known.answer?.nodes.find((each) => each.name === name);
  if (!node) return html`<${Dialog} title=${`Resize ${name}`}><${Loading} text="Reading it" /></${Dialog}>`;
  const build = (values) => ({ do: "resize", node: name, resources: changed(node.resources, values) });
  return html`<${EditForm} title=${`Resize ${name}`} action="Resize" build=${build}>
    <p class="quiet">Allocatable, as in the node's status.</p>
    <div class="row">
      ${node.resources.map((each) => html`<${Field} key=${each.name} label=${each.name} name=${each.name} value=${each.text.allocatable} />`)}
    </div>
    <div class="row">
      <${Field} label="Another resource" name="other" hint="nvidia.com/gpu" />
      <${Field} label="How much of it" name="amount" />
    </div>
  </${EditForm}>`;
}

function changed(resources, { other, amount, ...values }) {
  const before = Object.fromEntries(resources.map((each) => [each.name, each.text.allocatable]));
  const more = other.trim() ? { [other.trim()]: amount.trim() } : {};
  return { ...Object.fromEntries(Object.entries(values).filter(([key, value]) => value !== before[key])), ...more };
}

// How many pods a workload has.

export function Scale({ pod }) {
  const build = ({ replicas }) => ({ do: "scale", pod, replicas: Number(replicas) });
  return html`<${EditForm} title=${`Scale the workload of ${pod}`} action="Scale" build=${build}>
    <${Field} label="Replicas" name="replicas" value="3" type="number" min="0" max="1000" required data-focus />
    <p class="quiet">More are copies of this pod and begin pending; fewer: the pending go first.</p>
  </${EditForm}>`;
}

// Taints of a node: one more, or one less.

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function Taint({ name }) {
  const known = useAnswer("cluster", { side: side.value.id, from: 0, to: 20, find: name }, { slot: "taint" });
  const taints = known.answer?.nodes.find((each) => each.name === name)?.taints ?? [];
  const build = ({ key, value, effect }) => ({
    do: "taint",
    node: name,
    taint: `${key.trim()}${value.trim() ? `=${value.trim()}` : ""}:${effect}`,
  });
  return html`<${EditForm} title=${`Taint ${name}`} action="Add the taint" build=${build}>
    ${taints.length > 0 && html`<${There} name=${name} taints=${taints} />`}
    <div class="row">
      <${Field} label="Key" name="key" value="dedicated" required data-focus />
      <${Field} label="Value" name="value" hint="may be empty" />
      <${Select} label="Effect" name="effect" choices=${EFFECTS} value="NoSchedule" />
    </div>
  </${EditForm}>`;
}

function There({ name, taints }) {
  const remove = (taint) => () => edit({ do: "untaint", node: name, key: `${taint.split(/[=:]/)[0]}:${taint.split(":").at(-1)}` });
  return html`<ul class="listed" aria-label="Taints it has">
    ${taints.map(
      (taint) => html`<li><code>${taint}</code> <${IconButton} name="close" label=${`Remove ${taint}`} onClick=${remove(taint)} /></li>`,
    )}
  </ul>`;
}
