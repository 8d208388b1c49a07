// Every chart of the page as a file: what a screen shows, drawn anew, so that nothing of the page is needed to see it.

import { checksDrawn } from "./checks_drawn.js";
import { queuesDrawn } from "./queues_drawn.js";
import { resourcesDrawn } from "./resources_drawn.js";
import { lanesDrawn, totalsDrawn } from "./scores_drawn.js";
import { inksAt, save } from "./sheet.js";
import { useDrawn } from "./use_drawn.js";

const KINDS = {
  totals: totalsDrawn,
  lanes: lanesDrawn,
  resources: resourcesDrawn,
  checks: checksDrawn,
  use: useDrawn,
  queues: queuesDrawn,
};

// kind: one of these; chart: {name, title, text, notes, …}, the rest as the kind wants it. element: where colours are read.
export function saveChart(kind, chart, element) {
  const ink = inksAt(element);
  const { name, title, text, notes = [] } = chart;
  save(name, { title, text, notes, ink, ...KINDS[kind](chart, ink) });
}
