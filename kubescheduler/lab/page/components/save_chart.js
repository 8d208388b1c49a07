// The button that saves a chart of a screen as a file. What draws it is loaded when it is first pressed.

import { html } from "../ui.js";

// kind, chart(): see charts/charts.js. what: the chart's name, for those who hear the button among others.
export function SaveChart({ kind, what, chart }) {
  const save = async (event) => {
    const place = event.currentTarget.parentElement;
    const { saveChart } = await import("../charts/charts.js");
    saveChart(kind, chart(), place);
  };
  return html`<button type="button" class="plain push" aria-label=${`Save as SVG: ${what}`} onClick=${save}>Save as SVG</button>`;
}

// How many of all are drawn, where some are not: a note of a chart.
export function drawnOf(shown, total, what) {
  return shown < total ? [`${shown} of ${total} ${what} are drawn.`] : [];
}
