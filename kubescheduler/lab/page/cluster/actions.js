// What can be done with a node and with a pod: the entries of their menus.

import { edit, live } from "../api.js";
import { openLater } from "../dialogs.js";
import { asked, focusedNode, screen } from "../store.js";
import { batch } from "../ui.js";

// What can be done with a pod, for menus; and what a drop on a node does.

// pod: {key, node|null, owner}
export function podActions(pod) {
  const { key } = pod;
  const here = asked.value?.key === key;
  const show = { text: "Show its YAML …", run: () => openLater("editYaml", { kind: "pod", name: key }) };
  if (!live()) return [show];
  const workload = pod.owner && { text: "Scale its workload …", quiet: pod.owner, run: () => openLater("scale", { pod: key }) };
  return [
    { text: "Move to …", quiet: "or drag it onto a node", run: () => openLater("moveTo", { pod: key, node: pod.node }) },
    {
      text: "Ask about this pod",
      quiet: here ? "it is the one asked about" : "all screens then show its decision",
      disabled: here,
      run: () => edit({ do: "ask", pod: key }, { quiet: true }),
    },
    ...(pod.node
      ? [{ text: "Take it off its node", quiet: "it is pending again", run: () => edit({ do: "unbind", pod: key }) }]
      : []),
    { text: "Edit YAML …", run: () => openLater("editYaml", { kind: "pod", name: key }) },
    ...(workload ? [workload] : []),
    { text: "Delete", danger: true, run: () => edit({ do: "removePod", pod: key }) },
  ];
}

// A pod was dropped on a node: where it fits it is bound there, else the evidence is shown first.
export function moved(pod, node, verdict) {
  if (verdict?.fits) edit({ do: "bind", pod, node });
  else openLater("verdict", { pod, node });
}

// Shows the decision with this node in mind.
export function showWhy(node) {
  batch(() => {
    focusedNode.value = node;
    screen.value = "why";
  });
}

// What can be done with a node, for menus.

export function nodeActions(node) {
  const { name } = node;
  const change = (what) => () => edit({ do: what, node: name });
  return [
    { text: "Why (not) here?", quiet: "the decision, at this node", run: () => showWhy(name) },
    node.cordoned
      ? { text: "Uncordon", run: change("uncordon") }
      : { text: "Cordon", quiet: "no new pods", run: change("cordon") },
    { text: "Drain", quiet: "cordon, and its pods become pending", run: change("drain") },
    { text: "What if it is drained …", quiet: "what runs again, and what keeps it", run: () => openLater("loss", { verb: "drained", of: { node: name } }) },
    { text: "What if it is lost …", run: () => openLater("loss", { verb: "lost", of: { node: name } }) },
    ...(node.zone ? [{ text: "What if its zone is lost …", quiet: node.zone, run: () => openLater("loss", { verb: "lost", of: { zone: node.zone } }) }] : []),
    { text: "Taint …", run: () => openLater("taint", { name }) },
    { text: "Label …", run: () => openLater("label", { name }) },
    { text: "Resize …", run: () => openLater("resize", { name }) },
    { text: "Clone …", run: () => openLater("cloneNode", { name }) },
    { text: "Edit YAML …", run: () => openLater("editYaml", { kind: "node", name }) },
    { text: "Kill", quiet: "the node is gone, its pods are pending", danger: true, run: change("kill") },
  ];
}
