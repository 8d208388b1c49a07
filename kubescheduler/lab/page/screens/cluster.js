import { Empty } from "../components/states.js";
import { html } from "../ui.js";

export const title = "Cluster";

export default function Screen() {
  return html`<${Empty} title="Cluster"><p>In the making.</p></${Empty}>`;
}
