import { Empty } from "../components/states.js";
import { html } from "../ui.js";

export const title = "Hints";

export default function Screen() {
  return html`<${Empty} title="Hints"><p>In the making.</p></${Empty}>`;
}
