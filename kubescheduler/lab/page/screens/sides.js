import { Empty } from "../components/states.js";
import { html } from "../ui.js";

export const title = "Side by side";

export default function Screen() {
  return html`<${Empty} title="Side by side"><p>In the making.</p></${Empty}>`;
}
