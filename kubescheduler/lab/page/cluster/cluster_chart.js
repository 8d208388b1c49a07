// The nodes that came yet, as they are drawn in a file.

import { drawnOf } from "../components/save_chart.js";
import { state, wouldGo } from "../store.js";
import { shownBars } from "./node_grid.js";

export function clusterChart(pages) {
  const { total } = pages.head;
  const { title, asked, pendingTotal, podsTotal } = state.value;
  const nodes = pages.known(total);
  return {
    name: "cluster",
    title: title || "Cluster",
    text: `${total} nodes, ${podsTotal} pods, ${pendingTotal} pending.`,
    notes: drawnOf(nodes.length, total, "nodes"),
    nodes,
    bars: shownBars,
    asked: asked?.name ?? null,
    goes: wouldGo.value,
  };
}
