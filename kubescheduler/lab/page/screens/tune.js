import { Empty } from "../components/states.js";
import { html } from "../ui.js";

export const title = "Tune";

export default function Screen() {
  return html`<${Empty} title="Tune"><p>In the making.</p></${Empty}>`;
}
