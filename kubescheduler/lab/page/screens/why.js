import { Empty } from "../components/states.js";
import { html } from "../ui.js";

export const title = "Why";

export default function Screen() {
  return html`<${Empty} title="Why"><p>In the making.</p></${Empty}>`;
}
