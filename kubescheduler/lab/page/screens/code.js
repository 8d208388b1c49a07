import { Empty } from "../components/states.js";
import { html } from "../ui.js";

export const title = "Code";

export default function Screen() {
  return html`<${Empty} title="Code"><p>In the making.</p></${Empty}>`;
}
