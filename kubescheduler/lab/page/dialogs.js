// Dialogs by name; each is loaded when it is first opened.

import { openDialog } from "./components/dialog.js";
import { html } from "./ui.js";

const forms = () => import("./dialogs/forms.js");
const looks = () => import("./dialogs/looks.js");

const DIALOGS = {
  addNode: forms,
  addPod: forms,
  addYaml: forms,
  editYaml: forms,
  cloneNode: forms,
  taint: forms,
  label: forms,
  resize: forms,
  scale: forms,
  migrated: looks,
  moveTo: looks,
  loss: looks,
  nodeDetails: looks,
  verdict: looks,
  rule: looks,
};

// Opens a dialog with its properties: openLater("taint", {node}) opens the module's Taint.
export async function openLater(name, properties = {}) {
  const module = await DIALOGS[name]();
  const Content = module[`${name[0].toUpperCase()}${name.slice(1)}`];
  openDialog(() => html`<${Content} ...${properties} />`);
}
