// What can be done with a node, for menus.

import { edit } from "../api.js";
import { openLater } from "../dialogs.js";
import { showWhy } from "./pod_actions.js";

export function nodeActions(node) {
  const { name } = node;
  const change = (what) => () => edit({ do: what, node: name });
  return [
    { text: "Why (not) here?", quiet: "the decision, at this node", run: () => showWhy(name) },
    node.cordoned
      ? { text: "Uncordon", run: change("uncordon") }
      : { text: "Cordon", quiet: "no new pods", run: change("cordon") },
    { text: "Drain", quiet: "cordon, and its pods become pending", run: change("drain") },
    { text: "Taint …", run: () => openLater("taint", { name }) },
    { text: "Label …", run: () => openLater("label", { name }) },
    { text: "Resize …", run: () => openLater("resize", { name }) },
    { text: "Clone …", run: () => openLater("cloneNode", { name }) },
    { text: "Edit YAML …", run: () => openLater("editYaml", { kind: "node", name }) },
    { text: "Kill", quiet: "the node is gone, its pods are pending", danger: true, run: change("kill") },
  ];
}
