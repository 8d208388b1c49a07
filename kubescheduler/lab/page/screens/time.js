import { Empty } from "../components/states.js";
import { html } from "../ui.js";

export const title = "Time";

export default function Screen() {
  return html`<${Empty} title="Time"><p>In the making.</p></${Empty}>`;
}
