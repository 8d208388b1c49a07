// What of cpu, memory and pods is in use, over time. uPlot is loaded when this is first shown.

import { DataTable } from "../../components/data_table.js";
import { SaveChart } from "../../components/save_chart.js";
import { presenter, theme } from "../../store.js";
import { html, useDark, useEffect, useRef, useSheet, useState } from "../../ui.js";
import { seconds } from "./scrubber.js";

const SERIES = [
  { name: "cpu", dash: [] },
  { name: "memory", dash: [6, 3] },
  { name: "pods", dash: [2, 3] },
];
const HEIGHT = 150;
// Where the axis of time begins and ends, here and in the lanes.
export const EDGES = { left: 56, right: 24 };
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
export function inUse(run, now) {
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
