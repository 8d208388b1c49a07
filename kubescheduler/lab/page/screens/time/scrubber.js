// Where one is in time: a slider, the attempt before and after, and play.

import { IconButton } from "../../components/icons.js";
import { announce } from "../../store.js";
import { html, useEffect, useRef, useState } from "../../ui.js";

const WHOLE = 12_000;

export function seconds(time) {
  return `${Number(time.toFixed(time < 100 ? 2 : 0))} s`;
}

// Moves through the whole run in a few seconds; with reduced motion from attempt to attempt.
function usePlay(run, now, setNow) {
  const [playing, setPlaying] = useState(false);
  const at = useRef(now);
  at.current = now;
  useEffect(() => {
    if (!playing) return;
    const begun = performance.now();
    const from = at.current >= run.duration ? 0 : at.current;
    let frame;
    const step = (time) => {
      const next = from + ((time - begun) / WHOLE) * run.duration;
      setNow(Math.min(next, run.duration));
      if (next >= run.duration) setPlaying(false);
      else frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [playing, run]);
  return [playing, () => setPlaying(!playing)];
}

export function Scrubber({ run, now, setNow }) {
  const [playing, toggle] = usePlay(run, now, setNow);
  const times = [...new Set(run.attempts.map((each) => each.t))];
  const before = times.findLast((time) => time < now);
  const after = times.find((time) => time > now);
  const go = (time) => {
    if (time === undefined) return;
    setNow(time);
    const here = run.attempts.filter((each) => each.t === time);
    announce(`${seconds(time)}: ${here.map((each) => `${each.pod} ${each.result}${each.node ? ` ${each.node}` : ""}`).slice(0, 3).join(", ")}`);
  };
  return html`<div class="scrubber" role="group" aria-label="Where in time">
    <${IconButton} name="previous" label="To the attempt before" aria-disabled=${before === undefined} onClick=${() => go(before)} />
    <${IconButton} name=${playing ? "pause" : "play"} label=${playing ? "Pause" : "Play"} onClick=${toggle} />
    <${IconButton} name="next" label="To the next attempt" aria-disabled=${after === undefined} onClick=${() => go(after)} />
    <input
      type="range"
      aria-label="Time"
      min="0"
      max=${run.duration || 1}
      step=${(run.duration || 1) / 500}
      value=${now}
      aria-valuetext=${`${seconds(now)} of ${seconds(run.duration)}`}
      onInput=${(event) => setNow(event.target.valueAsNumber)}
    />
    <output>${seconds(now)} <span class="quiet">of ${seconds(run.duration)}</span></output>
  </div>`;
}
