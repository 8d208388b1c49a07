// For a lesson: predict where the pod goes, then let the scheduler say it, and see why.

import { Lesson } from "../class/lesson.js";
import { Empty } from "../components/states.js";
import { asked, side, version } from "../store.js";
import { html, useSheet } from "../ui.js";

export const title = "Class";

useSheet("style/cluster.css");
useSheet("style/class.css");

export default function Class() {
  if (!asked.value) {
    return html`<${Empty} title="No pod to predict">
      <p>Choose one of the pending pods, or add one on the screen Cluster.</p>
    </${Empty}>`;
  }
  return html`<${Lesson} key=${`${asked.value.key} ${side.value.id} ${version.value}`} />`;
}
