// Who waits for what, over time: one lane for each queue, a bar for each stay of a pod, a mark for each attempt.

import { SaveChart, drawnOf } from "../../components/save_chart.js";
import { html, useEffect, useMemo, useRef, useState } from "../../ui.js";
import { SIGNS, placedStays, podsOf, utilisationPath } from "./lane_layout.js";
import { openWhy } from "./open_why.js";
import { seconds } from "./scrubber.js";
import { EDGES } from "./utilisation.js";

export const LANES = {
  active: "Active",
  backoff: "Back-off",
  unschedulable: "Unschedulable",
  waiting: "Waiting at Permit",
  held: "Held by a gate",
};
const HEAD = 18;
const MARKS = 26;
const MOST_MARKS = 2000;

function useWidth(element) {
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const watch = new ResizeObserver(() => element.current && setWidth(Math.max(200, element.current.clientWidth)));
    watch.observe(element.current);
    return () => watch.disconnect();
  }, []);
  return width;
}

function Lane({ lane, x, width, choose }) {
  return html`<g class="lane" data-lane=${lane.name}>
    <rect class="ground" x="0" y=${lane.top + HEAD} width=${width} height=${lane.height - HEAD} />
    ${lane.stays.map(
      (stay) => html`<rect
        class="stay"
        x=${x(stay.from)}
        y=${stay.y}
        width=${Math.max(2, x(stay.to) - x(stay.from))}
        height=${lane.thick}
        onClick=${() => choose(stay.from)}
      >
        <title>${stay.pod}: ${LANES[lane.name]} from ${seconds(stay.from)}${stay.open ? "" : ` to ${seconds(stay.to)}`}</title>
      </rect>`,
    )}
  </g>`;
}

function Marks({ attempts, x, top, side }) {
  return html`<g class="marks">
    ${attempts.slice(0, MOST_MARKS).map(
      (each) => html`<path
        key=${each.id}
        class=${`mark ${each.result}`}
        d=${SIGNS[each.result]}
        transform=${`translate(${x(each.t)} ${top + MARKS / 2})`}
        onClick=${() => openWhy(side, each)}
      >
        <title>${seconds(each.t)}: ${each.pod} ${each.result} ${each.node ?? ""}</title>
      </path>`,
    )}
  </g>`;
}

// The queues as they are drawn in a file.
function queuesChart(run, now, lanes) {
  const stays = lanes.reduce((sum, lane) => sum + lane.stays.length, 0);
  const notes = [
    ...drawnOf(stays, stays + (run.lanes.more ?? 0), "stays"),
    ...drawnOf(Math.min(MOST_MARKS, run.attempts.length), run.attempts.length, "attempts"),
  ];
  const text = `${seconds(run.duration)}, ${run.attempts.length} attempts; the upright line is at ${seconds(now)}.`;
  return { name: "queues", title: "Queues", text, notes, run, now, most: MOST_MARKS, titles: LANES };
}

export function Lanes({ run, now, setNow }) {
  const place = useRef(null);
  const drawing = useRef(null);
  const width = useWidth(place);
  const span = run.duration || 1;
  const x = (time) => EDGES.left + ((width - EDGES.left - EDGES.right) * time) / span;
  const { lanes, height } = useMemo(() => placedStays(run, Object.keys(LANES), MARKS, HEAD), [run]);
  const at = (event) => {
    const box = drawing.current.getBoundingClientRect();
    setNow(Math.max(0, Math.min(span, (span * (event.clientX - box.left - EDGES.left)) / (width - EDGES.left - EDGES.right))));
  };
  return html`<figure class="lanes">
    <figcaption class="toolbar">
      <h2>Queues</h2>
      <span class="quiet"><span class="fits">✓</span> placed <span class="refused">✗</span> failed <span>◆</span> preempts</span>
      <${SaveChart} kind="queues" what="queues" chart=${() => queuesChart(run, now, lanes)} />
    </figcaption>
    <div ref=${place}>
      <svg
        ref=${drawing}
        class="lane-drawing"
        viewBox=${`0 0 ${width} ${height}`}
        width=${width}
        height=${height}
        role="img"
        aria-label=${`Queues over ${seconds(run.duration)}: ${lanes.map((lane) => `${LANES[lane.name]} ${podsOf(lane)}`).join(", ")}`}
        onPointerDown=${(event) => event.target.closest(".mark, .stay") || at(event)}
      >
        <path class="use" d=${utilisationPath(run, x, MARKS)} />
        <${Marks} attempts=${run.attempts} x=${x} top=${0} side=${run.side} />
        ${lanes.map((lane) => html`<${Lane} key=${lane.name} lane=${lane} x=${x} width=${width} choose=${setNow} />`)}
        <line class="now-line" x1=${x(now)} x2=${x(now)} y1="0" y2=${height} />
        <g class="lane">${lanes.map((lane) => html`<text x="2" y=${lane.top + 13}>${LANES[lane.name] ?? lane.name} · ${podsOf(lane)}</text>`)}</g>
      </svg>
    </div>
    ${run.lanes.more ? html`<p class="quiet">${run.lanes.more} more stays are not drawn.</p>` : null}
    ${run.attempts.length > MOST_MARKS ? html`<p class="quiet">${run.attempts.length - MOST_MARKS} more attempts are not marked; the table has them.</p>` : null}
  </figure>`;
}
