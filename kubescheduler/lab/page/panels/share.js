import { Dialog } from "../components/dialog.js";
import { html } from "../ui.js";

export default function Share() {
  return html`<${Dialog} title="Share or save the scene"><p>In the making.</p></${Dialog}>`;
}
