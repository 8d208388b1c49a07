import { Empty } from "../components/states.js";
import { html } from "../ui.js";

export const title = "Class";

export default function Screen() {
  return html`<${Empty} title="Class"><p>In the making.</p></${Empty}>`;
}
