// What was in use and where pods waited, drawn over the time of a run.

import { DataTable, drawnOf, SaveChart } from "../../components/tables.js";
import { moment, presenter, screen, theme } from "../../store.js";
import { batch, html, useDark, useEffect, useMemo, useRef, useSheet, useState } from "../../ui.js";

export function seconds(time) {
  return `${Number(time.toFixed(time < 100 ? 2 : 0))} s`;
}

// Shows the decision of an attempt on the screen Why, as the cluster was then.
export function openWhy(side, attempt) {
  batch(() => {
    moment.value = { side, attempt: attempt.id, t: attempt.t, key: attempt.pod };
    screen.value = "why";
  });
}

// Where in the drawing each stay goes: the first row of its lane that is free.

// What marks an attempt, around (0, 0).
export const SIGNS = { placed: "M-4 0 -1 3 4-3", failed: "M-3-3 3 3M3-3-3 3", preempts: "M0-4 4 0 0 4-4 0Z" };

const MOST_TALL = 120;
const THICKEST = 8;
const GAP = 1;

// The rows of stays that are sorted by their begin: [[stay, row]…] and how many rows.
function rowsOf(stays, end) {
  const free = [];
  const placed = stays.map((stay) => {
    const to = stay.to ?? end;
    let row = free.findIndex((until) => until <= stay.from);
    if (row < 0) row = free.length;
    free[row] = Math.max(to, stay.from + end / 1000);
    return [{ pod: stay.pod, from: stay.from, to, open: stay.to === null }, row];
  });
  return [placed, free.length];
}

// names: the lanes from the top. Those that are always empty and rare are left out.
export function placedStays(run, names, top, head) {
  const lanes = [];
  let y = top;
  for (const name of names) {
    const stays = run.lanes[name] ?? [];
    if (!stays.length && (name === "gated" || name === "waiting")) continue;
    const [placed, rows] = rowsOf(stays, run.duration);
    const thick = Math.max(1, Math.min(THICKEST, MOST_TALL / Math.max(rows, 1) - GAP));
    const height = head + Math.max(6, rows * (thick + GAP) + 4);
    const from = y;
    const at = placed.map(([stay, row]) => ({ ...stay, y: from + head + 2 + row * (thick + GAP) }));
    lanes.push({ name, top: from, height, thick, stays: at });
    y += height + 4;
  }
  return { lanes, height: y };
}

// The share of cpu in use, as a faint line behind the marks.
export function utilisationPath(run, x, height) {
  const [times, cpu] = run.samples;
  return times
    .map((time, at) => `${at ? `H${x(time).toFixed(1)}V` : `M${x(time).toFixed(1)} `}${(height * (1 - (cpu[at] ?? 0))).toFixed(1)}`)
    .join("");
}

// In words, how many pods were ever in a lane; one may be there several times.
export function podsOf({ stays }) {
  const pods = new Set(stays.map((stay) => stay.pod)).size;
  return `${pods} ${pods === 1 ? "pod" : "pods"}`;
}

// What of cpu, memory and pods is in use, over time. uPlot is loaded when this is first shown.

const SERIES = [
  { name: "cpu", dash: [] },
  { name: "memory", dash: [6, 3] },
  { name: "pods", dash: [2, 3] },
];
const HEIGHT = 150;
// Where the axis of time begins and ends, here and in the lanes.
const EDGES = { left: 56, right: 24 };
const TABLED = 100;

let loading = null;
function plotter() {
  useSheet("vendor/uplot.css");
  loading ??= import("../../vendor/uplot.js").then((module) => module.default);
  return loading;
}

const percent = (share) => (share === null || share === undefined ? "–" : `${Math.round(share * 100)} %`);

function options(host, width, span, line, choose) {
  const shown = getComputedStyle(host);
  const colour = (name) => shown.getPropertyValue(name).trim();
  const [text, quiet, rule] = [shown.color, colour("--quiet") || shown.color, "rgb(128 128 128 / .25)"];
  const font = `${shown.fontSize} ${shown.fontFamily}`;
  const axis = { stroke: () => text, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule }, font };
  const inks = ["--plot-1", "--plot-2", "--plot-3"].map((name) => resolved(host, name));
  return {
    width,
    height: HEIGHT,
    padding: [8, EDGES.right, 0, 0],
    scales: { x: { time: false, range: [0, span] }, y: { range: [0, 1] } },
    cursor: { y: false, drag: { x: false, y: false }, bind: { mousedown: (plot) => () => choose(plot.posToVal(plot.cursor.left, "x")) } },
    legend: { show: false },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map((each) => `${each} s`) },
      { ...axis, values: (_, ticks) => ticks.map((each) => `${Math.round(each * 100)} %`), size: EDGES.left },
    ],
    series: [{}, ...SERIES.map((each, at) => ({ label: each.name, stroke: inks[at], width: 2, dash: each.dash, points: { show: false }, paths: stepped }))],
    hooks: { draw: [(plot) => drawNow(plot, line.current, quiet)] },
  };
}

// A colour of the page as a canvas takes it.
function resolved(host, name) {
  const probe = document.createElement("span");
  probe.style.setProperty("color", `var(${name})`);
  host.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

let stepped = null;

function drawNow(plot, now, colour) {
  const x = plot.valToPos(now, "x", true);
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

function usePlot(run, now, setNow) {
  const host = useRef(null);
  const plot = useRef(null);
  const line = useRef(now);
  line.current = now;
  const look = `${theme.value} ${presenter.value} ${useDark()}`;
  useEffect(() => {
    let gone = false;
    let watch = null;
    plotter().then((uPlot) => {
      if (gone || !host.current) return;
      stepped ??= uPlot.paths.stepped({ align: 1 });
      const width = host.current.clientWidth;
      plot.current = new uPlot(options(host.current, width, run.duration, line, setNow), run.samples, host.current);
      watch = new ResizeObserver(() => host.current && plot.current?.setSize({ width: host.current.clientWidth, height: HEIGHT }));
      watch.observe(host.current);
    });
    return () => {
      gone = true;
      watch?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [run, look]);
  useEffect(() => plot.current?.redraw(false, false), [now]);
  return host;
}

// The samples at a time: [cpu, memory, pods] as shares.
function inUse(run, now) {
  const times = run.samples[0];
  let at = times.findLastIndex((time) => time <= now);
  if (at < 0) at = 0;
  return run.samples.slice(1).map((column) => column[at]);
}

// All that is in use, as it is drawn in a file.
function useChart(run, now) {
  const use = inUse(run, now);
  return {
    name: "in-use",
    title: "In use",
    text: `Shares of what is allocatable, over ${seconds(run.duration)}; the key has those at ${seconds(now)}, where the upright line is.`,
    samples: run.samples,
    duration: run.duration,
    now,
    series: SERIES.map((each, at) => ({ ...each, colour: `var(--plot-${at + 1})`, text: percent(use[at]) })),
  };
}

export function Utilisation({ run, now, setNow }) {
  const host = usePlot(run, now, setNow);
  const [table, setTable] = useState(false);
  const use = inUse(run, now);
  const step = Math.ceil(run.samples[0].length / TABLED);
  const rows = run.samples[0].map((time, at) => at).filter((at) => at % step === 0);
  const columns = [
    { title: "Time", value: (at) => seconds(run.samples[0][at]), head: true },
    ...SERIES.map((each, at) => ({ title: each.name, value: (row) => percent(run.samples[at + 1][row]), number: true })),
  ];
  return html`<figure class="utilisation">
    <figcaption class="toolbar">
      <h2>In use</h2>
      ${SERIES.map(
        (each, at) => html`<span class="plot-key" data-series=${at + 1}>
          <svg viewBox="0 0 24 4" aria-hidden="true"><line x1="0" y1="2" x2="24" y2="2" stroke-dasharray=${each.dash.join(" ")} /></svg>
          ${each.name} <b>${percent(use[at])}</b>
        </span>`,
      )}
      <${SaveChart} kind="use" what="in use" chart=${() => useChart(run, now)} />
      <button type="button" class="plain" aria-pressed=${table} onClick=${() => setTable(!table)}>As a table</button>
    </figcaption>
    <div class="plot" ref=${host} role="img" aria-label=${`In use at ${seconds(now)}: ${SERIES.map((each, at) => `${each.name} ${percent(use[at])}`).join(", ")}`} hidden=${table}></div>
    ${table ? html`<${DataTable} caption="In use over time" columns=${columns} rows=${rows} />` : null}
  </figure>`;
}

// Who waits for what, over time: one lane for each queue, a bar for each stay of a pod, a mark for each attempt.

export const LANES = {
  active: "Active",
  backoff: "Back-off",
  unschedulable: "Unschedulable",
  waiting: "Waiting at Permit",
  gated: "Held by a gate",
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
        <g class="lane">${lanes.map((lane) => html`<text x="2" y=${lane.top + 13}>${LANES[lane.name]} · ${podsOf(lane)}</text>`)}</g>
      </svg>
    </div>
    ${run.lanes.more ? html`<p class="quiet">${run.lanes.more} more stays are not drawn.</p>` : null}
    ${run.attempts.length > MOST_MARKS ? html`<p class="quiet">${run.attempts.length - MOST_MARKS} more attempts are not marked; the table has them.</p>` : null}
  </figure>`;
}
