// Dialogs by name; each is loaded when it is first opened.

import { openDialog } from "./components/dialog.js";
import { html } from "./ui.js";

const DIALOGS = {
  addNode: () => import("./dialogs/add_node.js"),
  addPod: () => import("./dialogs/add_pod.js"),
  addYaml: () => import("./dialogs/add_yaml.js"),
  editYaml: () => import("./dialogs/edit_yaml.js"),
  cloneNode: () => import("./dialogs/clone_node.js"),
  taint: () => import("./dialogs/taint.js"),
  label: () => import("./dialogs/label.js"),
  resize: () => import("./dialogs/resize.js"),
  scale: () => import("./dialogs/scale.js"),
  migrated: () => import("./dialogs/migrated.js"),
  moveTo: () => import("./dialogs/move_to.js"),
  nodeDetails: () => import("./dialogs/node_details.js"),
  verdict: () => import("./dialogs/verdict.js"),
  rule: () => import("./dialogs/rule.js"),
};

// Opens a dialog with its properties: openLater("taint", {node}).
export async function openLater(name, properties = {}) {
  const { default: Content } = await DIALOGS[name]();
  openDialog(() => html`<${Content} ...${properties} />`);
}
