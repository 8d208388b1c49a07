// For a lesson: predict where the pod goes, then let the scheduler say it, and see why. And the workshop: slides, the board.

import { Board } from "../class/board.js";
import { Lesson } from "../class/lesson.js";
import { Slides } from "../class/slides.js";
import { live } from "../api.js";
import { Empty } from "../components/states.js";
import { asked, side, version } from "../store.js";
import { html, useSheet, useState } from "../ui.js";

export const title = "Class";

useSheet("style/cluster.css");
useSheet("style/class.css");

export default function Class() {
  const [slides, setSlides] = useState(false);
  if (slides) return html`<${Slides} close=${() => setSlides(false)} />`;
  return html`
    ${live() && html`<div class="actions"><button type="button" onClick=${() => setSlides(true)}>Slides of the workshop</button></div>`}
    <${Board} />
    <${Question} />
  `;
}

function Question() {
  if (!asked.value) {
    return html`<${Empty} title="No pod to predict">
      <p>Choose one of the pending pods, or add one on the screen Cluster.</p>
    </${Empty}>`;
  }
  return html`<${Lesson} key=${`${asked.value.key} ${side.value.id} ${version.value}`} />`;
}
