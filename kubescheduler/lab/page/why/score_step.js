// Node × rule: raw scores, normalised ones, and these times the weights as one stacked bar. Each part opens its formula.

import { Choice } from "../components/fields.js";
import { Matrix } from "../components/matrix.js";
import { SaveChart } from "../components/save_chart.js";
import { RuleKey, letter, shading } from "../components/shades.js";
import { classes, html, useMemo, useState } from "../ui.js";
import { scoresChart } from "./scores_chart.js";

const MODES = [
  ["raw", "Raw"],
  ["normalised", "Normalised"],
  ["product", "× weight"],
];
// What stands at the end of a row: what its numbers add up to. Raw ones are on scales of their own, and do not add up.
const TAILS = {
  raw: { title: "Weighted total", value: (node) => node.total },
  normalised: { title: "Sum", value: (node) => Object.values(node.scores).reduce((sum, score) => sum + score.normalised, 0) },
  product: { title: "Total", value: (node) => node.total },
};
const LANES = { head: 5.25, row: 2.125, name: 11.5, cell: 5.75, tail: 5, stretch: true };
const STACK = { ...LANES, head: 2.25, tail: 4.5 };

export function ScoreStep({ pages, start, finder, chosen, onChoose, onRange }) {
  const [mode, setMode] = useState(start);
  const [differing, setDiffering] = useState(null);
  const { rules, fits, scoredText, ties } = pages.head;
  const columns = useMemo(
    () => rules.map((rule) => ({ id: rule.id, title: `${letter(rule.id)} ${rule.title}`, short: letter(rule.id), note: `× ${rule.weight}` })),
    [rules],
  );
  const same = useMemo(() => alike(pages.head), [pages.head]);
  const hidden = mode === "product" && (differing ?? same.share > MOST_ALIKE) ? same.rules : NOTHING;
  const scales = useScales(pages.head, mode, hidden.size ? same.points : 0);
  const open = (node, column) => onChoose({ node: node.name, kind: "rule", id: column?.id ?? null });
  const stacked = mode === "product";
  const omitted = hidden.size > 0 && leftOut(columns, hidden, pages.head);
  const chart = () => scoresChart(pages, { mode, hidden, scales, tail: TAILS[mode], notes: [omitted, scoredText].filter(Boolean) });
  return html`
    <div class="toolbar">
      ${finder}
      <${Choice} name="scores" label="Which scores" value=${mode} choices=${MODES} onChange=${setMode} />
      ${
        stacked && same.rules.size > 0 && fits > 1 &&
        html`<label class="tick">
          <input type="checkbox" checked=${hidden.size > 0} onChange=${(event) => setDiffering(event.target.checked)} /> only where nodes differ
        </label>`
      }
      <${SaveChart} kind=${stacked ? "totals" : "lanes"} what=${stacked ? "totals" : "scores"} chart=${chart} />
    </div>
    ${omitted && html`<p class="quiet">${omitted}</p>`}
    ${scoredText && html`<p class="note">${scoredText}</p>`}
    <${Matrix}
      key=${mode}
      label=${stacked ? "Totals of the nodes" : "Nodes by rules"}
      corner="Rank, node"
      columns=${columns}
      count=${fits}
      row=${(at) => fitting(pages.row(at))}
      head=${(node) => head(node, ties)}
      cell=${(node, column) => cell(node, column, mode, scales, hidden)}
      tail=${TAILS[mode].value}
      tailTitle=${TAILS[mode].title}
      open=${open}
      chosen=${chosen}
      sizes=${stacked ? STACK : LANES}
      layout=${stacked ? "stack" : "grid"}
      onRange=${onRange}
      rowClass=${(node) => classes(node.chosen && "winner", node.best && "best")}
    />
    <${RuleKey} rules=${rules} />
  `;
}

// Of rows in the order of ranks, those that fit come first; a row of the others has no scores.
function fitting(node) {
  return node?.fits ? node : undefined;
}

function head(node, ties) {
  const tied = ties && node.best;
  return html`<span class="rank">${node.rank}</span> ${tied ? html`<span aria-hidden="true">= </span>` : ""}${node.name}${
    node.chosen ? html` <span class="fits">✓</span><span class="unseen"> chosen</span>` : ""
  }${tied ? html`<span class="unseen">, one of ${ties.total} that tie</span>` : ""}`;
}

const NOTHING = new Set();
// Above this share of a total, points that every node gets alike hide all others.
const MOST_ALIKE = 0.6;

// The rules that give every node that fits the same points, and their share of the highest total.
function alike({ rules, highest, fits }) {
  const same = fits > 1 ? rules.filter((rule) => rule.alike > 0) : [];
  const points = same.reduce((sum, rule) => sum + rule.alike, 0);
  return { rules: new Set(same.map((rule) => rule.id)), points, share: points / Math.max(1, highest ?? 0) };
}

function leftOut(columns, hidden, { rules }) {
  const parts = columns.flatMap((column, at) => (hidden.has(column.id) ? [`${column.short} (${rules[at].alike})`] : []));
  return `Not in the bars, since all nodes that fit get the same: ${parts.join(", ")}. The totals have it.`;
}

// What fills a lane or the bar: the largest value of all nodes that fit, by rule or of the totals.
function useScales(found, mode, out) {
  return useMemo(() => {
    const most = { total: Math.max(1, (found.highest ?? 0) - out) };
    for (const { id, greatest, scale } of found.rules) {
      most[id] = mode === "raw" ? Math.max(1, greatest.raw) : Math.max(1, greatest.normalised, scale);
    }
    return most;
  }, [found, mode, out]);
}

function cell(node, column, mode, scales, hidden) {
  const score = node.scores[column.id];
  if (!score) return { text: "–", label: `${node.name}, ${column.title}: no score`, kind: "silent" };
  const value = score[mode];
  const label = `${node.name}, ${column.title}: raw ${score.raw}, normalised ${score.normalised}, times weight ${score.product}`;
  if (mode !== "product") {
    const share = `${Math.min(100, (100 * Math.abs(value)) / (scales[column.id] ?? 1))}%`;
    return { text: html`<i style=${{ width: share, ...shading(column.id) }}></i><b>${value}</b>`, label, kind: "lane" };
  }
  if (hidden.has(column.id)) return { text: "", label, kind: "segment nothing", style: { width: "0" } };
  const width = `${(100 * Math.max(0, value)) / scales.total}%`;
  return { text: value > 0 ? column.short : "", label, kind: value > 0 ? "segment" : "segment nothing", style: { width, ...shading(column.id) } };
}
