// Who waits in which queue over time: a bar for each stay of a pod, a sign for each attempt, lanes under one axis.

import { SIGNS, placedStays, podsOf, utilisationPath } from "../screens/time/charts.js";
import { html } from "../ui.js";
import { textWidth } from "./sheet.js";
import { ticksOf } from "./use_drawn.js";

const WIDTH = 760;
const HEAD = 20;
const MARKS = 26;
const BELOW = 24;
const INKS = { placed: "var(--fit)", failed: "var(--refuse)", preempts: "var(--text)" };
const SAID = { placed: "placed", failed: "failed", preempts: "preempts" };
const BARS = { active: "var(--accent)", backoff: "var(--warn)", unschedulable: "var(--refuse)", waiting: "var(--accent)", gated: "var(--quiet)" };

function Sign({ result, ink, at }) {
  const colour = ink(INKS[result]);
  return html`<path d=${SIGNS[result]} transform=${at} fill=${result === "preempts" ? colour : "none"} stroke=${colour} stroke-width="2" />`;
}

// chart: {run, now, most: attempts that are marked, titles: a lane's title by its name, in order from the top}
export function queuesDrawn({ run, now, most, titles }, ink) {
  const span = run.duration || 1;
  const x = (time) => (WIDTH * time) / span;
  const { lanes, height } = placedStays(run, Object.keys(titles), MARKS, HEAD);
  const rule = ink("var(--line)");
  const body = html`<g>
    <path d=${utilisationPath(run, x, MARKS)} fill="none" stroke=${rule} />
    ${run.attempts.slice(0, most).map((each) => html`<${Sign} result=${each.result} ink=${ink} at=${`translate(${x(each.t)} ${MARKS / 2})`} />`)}
    ${lanes.map(
      (lane) => html`<g>
        <text x="2" y=${lane.top + 14} fill=${ink("var(--quiet)")}>${titles[lane.name]} · ${podsOf(lane)}</text>
        <rect x="0" y=${lane.top + HEAD} width=${WIDTH} height=${lane.height - HEAD} fill=${ink("var(--panel)")} />
        ${lane.stays.map(
          (stay) => html`<rect x=${x(stay.from)} y=${stay.y} width=${Math.max(2, x(stay.to) - x(stay.from))} height=${lane.thick} fill=${ink(BARS[lane.name])} />`,
        )}
      </g>`,
    )}
    ${ticksOf(span).map(
      (time) => html`<path d=${`M${x(time)} ${height}V${height + 5}`} stroke=${rule} /><text x=${x(time)} y=${height + 20} text-anchor="middle">${Number(time.toFixed(3))} s</text>`,
    )}
    <path d=${`M${x(now)} 0V${height}`} stroke=${ink("var(--text)")} stroke-width="1.5" />
  </g>`;
  return { body, width: WIDTH + textWidth("00000 s") / 2, height: height + BELOW, keys: keysOf(run, lanes, titles, ink) };
}

function keysOf(run, lanes, titles, ink) {
  const results = Object.keys(SAID).filter((each) => run.attempts.some((attempt) => attempt.result === each));
  return [
    ...results.map((each) => ({ wide: 12, text: SAID[each], sample: html`<${Sign} result=${each} ink=${ink} at="translate(6 7)" />` })),
    ...lanes
      .filter((lane) => lane.stays.length)
      .map((lane) => ({
        wide: 24,
        text: `a pod in ${titles[lane.name]}`,
        sample: html`<rect y="3" width="24" height="8" fill=${ink(BARS[lane.name])} />`,
      })),
    { wide: 24, text: "share of cpu in use", sample: html`<path d="M0 7H24" stroke=${ink("var(--line)")} />` },
  ];
}
