// Slides of the workshop: a page for each exercise with its story and its task, to project and to print as handouts.

import { useAnswer } from "../api.js";
import { Answered } from "../components/states.js";
import { Markdown } from "../markdown/markdown.js";
import { html, useEffect, useRef } from "../ui.js";

export function Slides({ close }) {
  const known = useAnswer("exercises", {}, { slot: "slides" });
  return html`<${Answered} known=${known} text="Reading the exercises">
    ${(answer) => html`<${Shown} exercises=${answer.exercises} close=${close} />`}
  </${Answered}>`;
}

function Shown({ exercises, close }) {
  const place = useRef(null);
  useEffect(() => {
    document.body.classList.add("slides-shown");
    return () => document.body.classList.remove("slides-shown");
  }, []);
  const turn = (event) => {
    const step = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const slides = [...place.current.children];
    const at = slides.indexOf(document.activeElement);
    slides[Math.min(slides.length - 1, Math.max(0, at + step))].focus();
  };
  return html`<div class="actions slides-tools">
      <button type="button" onClick=${close}>Back to the lesson</button>
      <button type="button" class="primary" onClick=${() => print()}>Print handouts</button>
      <span class="quiet">Arrow keys turn the pages.</span>
    </div>
    <div class="slides" ref=${place} onKeyDown=${turn}>
      ${exercises.map((one, at) => html`<${Slide} key=${one.name} exercise=${one} number=${at + 1} />`)}
    </div>`;
}

function Slide({ exercise, number }) {
  return html`<article class="slide" tabindex="0" aria-label=${`${number} ${exercise.title}`}>
    <header><h2>${number}. ${exercise.title}</h2><p class="quiet">release ${exercise.release} · ${exercise.minutes} minutes · kubescheduler lab start ${exercise.name.split("-")[0]} DIR</p></header>
    <p class="slide-summary">${exercise.summary}</p>
    <${Markdown} text=${exercise.task} top=${3} titled=${true} />
  </article>`;
}
