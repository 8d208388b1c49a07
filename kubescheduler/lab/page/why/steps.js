// The attempt as a strip of steps, to walk through by hand or to play.

import { IconButton } from "../components/icons.js";
import { announce } from "../store.js";
import { classes, html, useEffect, useRef, useState } from "../ui.js";

const SIGNS = { passed: "✓", stopped: "✗", skipped: "–", none: "·" };
export const SAID = { passed: "passed", stopped: "ended the attempt", skipped: "had nothing to do", none: "not reached" };
const PAUSE = 1800;

export function Steps({ steps, current, onStep }) {
  const [playing, setPlaying] = useState(false);
  const strip = useRef(null);
  const at = steps.findIndex((each) => each.id === current.id);
  const to = (next) => {
    const step = steps[Math.max(0, Math.min(steps.length - 1, next))];
    onStep(step.id);
    announce(`${step.title}: ${SAID[step.state]}. ${step.text}`);
  };
  useEffect(() => {
    if (!playing) return undefined;
    if (at === steps.length - 1) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => to(at + 1), PAUSE);
    return () => clearTimeout(timer);
  }, [playing, at]);
  // The selected step in the middle; again when the strip gets another width, as it first does with its stylesheet.
  useEffect(() => {
    const shown = strip.current;
    const watch = new ResizeObserver(() => {
      const [tab, whole] = [shown.querySelector("[aria-selected=true]"), shown].map((each) => each.getBoundingClientRect());
      shown.scrollLeft += tab.left + tab.width / 2 - (whole.left + whole.width / 2);
    });
    watch.observe(shown);
    return () => watch.disconnect();
  }, [at]);
  const play = () => {
    if (!playing && at === steps.length - 1) to(0);
    setPlaying(!playing);
  };
  const keys = (event) => {
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: steps.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    to(next);
    strip.current.querySelectorAll("[role=tab]")[Math.max(0, Math.min(steps.length - 1, next))].focus();
  };
  return html`<div class="steps">
    <div class="step-tools">
      <${IconButton} name="previous" label="Step back" aria-disabled=${at === 0} onClick=${() => to(at - 1)} />
      <${IconButton} name=${playing ? "pause" : "play"} label=${playing ? "Pause" : "Play the steps"} onClick=${play} />
      <${IconButton} name="next" label="Next step" aria-disabled=${at === steps.length - 1} onClick=${() => to(at + 1)} />
    </div>
    <div class="strip" role="tablist" aria-label="Steps of the decision" ref=${strip} onKeyDown=${keys}>
      ${steps.map(
        (each) => html`<button
          key=${each.id}
          type="button"
          role="tab"
          id=${`step-${each.id}`}
          class=${classes("step", each.state)}
          aria-selected=${each.id === current.id}
          aria-controls="step-panel"
          tabindex=${each.id === current.id ? 0 : -1}
          title=${`${each.title}: ${SAID[each.state]}`}
          onClick=${() => to(steps.indexOf(each))}
        >
          <span class="sign" aria-hidden="true">${SIGNS[each.state]}</span> ${each.title}
          <span class="unseen">, ${SAID[each.state]}</span>
        </button>`,
      )}
    </div>
  </div>`;
}
