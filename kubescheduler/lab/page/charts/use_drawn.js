// What is in use over time, as stepped lines that differ in their dashes.

import { html } from "../ui.js";
import { textWidth } from "./sheet.js";

const WIDTH = 760;
const HEIGHT = 220;
const LEFT = 54;
const BELOW = 24;
const STEPS = [1, 2, 5];
const TICKS = 8;

// A round number of seconds between two ticks.
function tickOf(span) {
  const power = 10 ** Math.floor(Math.log10(span / TICKS));
  return (STEPS.find((each) => each * power >= span / TICKS) ?? 10) * power;
}

// The seconds at which an axis has ticks.
export function ticksOf(duration) {
  const step = tickOf(duration);
  return Array.from({ length: Math.floor(duration / step) + 1 }, (_, at) => at * step);
}

// The path of one series; a sample that is missing interrupts it.
function stepped(times, shares, x, y, end) {
  let path = "";
  let drawing = false;
  times.forEach((time, at) => {
    const share = shares[at];
    if (share === null || share === undefined) drawing = false;
    else {
      path += `${drawing ? `H${x(time).toFixed(1)}V` : `M${x(time).toFixed(1)} `}${y(share).toFixed(1)}`;
      drawing = true;
    }
  });
  return drawing ? `${path}H${x(end).toFixed(1)}` : path;
}

// chart: {samples: [[t…], [share…]…], duration, now, series: [{name, dash, colour, text: its share now}]}
export function useDrawn({ samples, duration, now, series }, ink) {
  const x = (time) => LEFT + ((WIDTH - LEFT) * time) / duration;
  const y = (share) => HEIGHT * (1 - Math.min(1, share));
  const ticks = ticksOf(duration);
  const rule = ink("var(--line)");
  const body = html`<g>
    ${[0, 0.25, 0.5, 0.75, 1].map(
      (share) => html`<path d=${`M${LEFT} ${y(share)}H${WIDTH}`} stroke=${rule} />
        <text x=${LEFT - 8} y=${y(share) + 4} text-anchor="end">${share * 100} %</text>`,
    )}
    ${ticks.map((time) => html`<path d=${`M${x(time)} 0V${HEIGHT + 5}`} stroke=${rule} /><text x=${x(time)} y=${HEIGHT + 20} text-anchor="middle">${Number(time.toFixed(3))} s</text>`)}
    ${series.map((each, at) => html`<path d=${stepped(samples[0], samples[at + 1], x, y, duration)} fill="none" stroke-width="2" stroke=${ink(each.colour)} stroke-dasharray=${each.dash.join(" ") || "none"} />`)}
    <path d=${`M${x(now)} 0V${HEIGHT}`} stroke=${ink("var(--text)")} stroke-width="1.5" />
  </g>`;
  const keys = series.map((each) => ({
    wide: 36,
    text: `${each.name} ${each.text}`,
    sample: html`<path d="M0 7H36" stroke-width="2" stroke=${ink(each.colour)} stroke-dasharray=${each.dash.join(" ") || "none"} />`,
  }));
  return { body, width: WIDTH + textWidth("00000 s") / 2, height: HEIGHT + BELOW, keys };
}
