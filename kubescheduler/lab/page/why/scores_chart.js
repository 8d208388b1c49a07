// The scores of a decision as they are drawn in a file: the nodes that came yet, in the order of their ranks.

import { drawnOf } from "../components/save_chart.js";
import { goesTo } from "./outcome_text.js";

const TITLES = { raw: "Raw scores", normalised: "Normalised scores", product: "Totals: scores × weights" };

// mode: "raw" | "normalised" | "product"; hidden, scales, tail: of the screen.
export function scoresChart(pages, { mode, hidden, scales, tail, notes }) {
  const { rules, fits, ties } = pages.head;
  const rows = pages.known(fits).filter((node) => node.fits);
  return {
    name: mode === "product" ? "totals" : `${mode}-scores`,
    title: TITLES[mode],
    text: goesTo(pages.head),
    notes: [...notes, ...(ties ? [`The first ${ties.total} tie.`] : []), ...drawnOf(rows.length, fits, "nodes that fit")],
    rules,
    rows,
    hidden,
    scale: scales.total,
    scales,
    tail,
    value: (row, rule) => row.scores[rule.id]?.[mode] ?? null,
  };
}
