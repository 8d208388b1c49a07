// The nodes by total. A row that moves says where it was, and slides from there.

import { drawnOf } from "../../components/save_chart.js";
import { RuleKey } from "../../components/shades.js";
import { Stack } from "../../components/stack.js";
import { html, useLayoutEffect, useRef } from "../../ui.js";
import { goesTo } from "../../why/outcome_text.js";

const QUICK = { duration: 220, easing: "ease-out" };

// Lets each row slide from where it stood before this drawing.
function useSlide(list, rows) {
  const before = useRef(new Map());
  useLayoutEffect(() => {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const now = new Map();
    for (const row of list.current.children) {
      const top = row.offsetTop;
      now.set(row.dataset.node, top);
      const moved = (before.current.get(row.dataset.node) ?? top) - top;
      if (moved && !still) row.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], QUICK);
    }
    before.current = now;
  }, [rows]);
}

// The rules in the order in which they were first seen, so that a shade keeps its meaning while weights change.
function useSteadyOrder(rules) {
  const seen = useRef(new Map());
  rules.forEach((rule) => seen.current.has(rule.id) || seen.current.set(rule.id, seen.current.size));
  return [...rules].sort((a, b) => seen.current.get(a.id) - seen.current.get(b.id));
}

function Moved({ row, was, known }) {
  if (was === row.rank) return null;
  if (was === undefined) return known ? html`<span class="moved up" title="Was further down">▲</span>` : null;
  const up = row.rank < was;
  return html`<span class=${up ? "moved up" : "moved down"}>
    <span aria-hidden="true">${up ? "▲" : "▼"}</span> was ${was}
  </span>`;
}

function Row({ row, rules, scale, baseline }) {
  const parts = rules.map((rule) => ({ id: rule.id, title: rule.title, value: row.scores[rule.id]?.product ?? 0 }));
  return html`<li data-node=${row.name} class=${row.chosen ? "ranked chosen" : "ranked"}>
    <span class="place">${row.rank}</span>
    <span class="ranked-node">
      <span class="name">${row.name}</span>
      ${row.chosen ? html`<span class="chip accent"><span aria-hidden="true">✓</span> chosen</span>` : null}
      <${Moved} row=${row} was=${baseline.get(row.name)} known=${baseline.size > 0} />
    </span>
    <span class="number total">${row.total}</span>
    <${Stack} parts=${parts} scale=${scale} label=${`${row.name}: ${parts.map((each) => `${each.title} ${each.value}`).join(", ")}`} />
  </li>`;
}

function rankedRows(decision) {
  return decision.nodes.filter((row) => row.fits && row.rank !== null).sort((a, b) => a.rank - b.rank);
}

function fullest(rows) {
  return Math.max(1, ...rows.map((row) => row.total ?? 0));
}

// The ranking as it is drawn in a file.
export function rankingChart(decision) {
  const rows = rankedRows(decision);
  const notes = [
    ...(decision.scored ? [] : [decision.scoredText]),
    ...drawnOf(rows.length, decision.fits, "nodes that fit"),
    ...(decision.total > decision.fits ? [`${decision.total - decision.fits} of ${decision.total} nodes refuse the pod.`] : []),
  ];
  return { name: "ranking", title: "Ranking", text: goesTo(decision), notes, rules: decision.rules, rows, scale: fullest(rows) };
}

// baseline: node → rank before the change.
export function Ranking({ decision, baseline, more }) {
  const list = useRef(null);
  const rows = rankedRows(decision);
  const rules = useSteadyOrder(decision.rules);
  const scale = fullest(rows);
  useSlide(list, decision);
  return html`
    <p class="verdict">
      ${decision.host
        ? html`<span class="sign fits" aria-hidden="true">✓</span> ${decision.pod} goes to <b>${decision.host}</b>`
        : html`<span class="sign refused" aria-hidden="true">✗</span> ${decision.message}`}
    </p>
    ${decision.scored ? null : html`<p class="quiet">${decision.scoredText}</p>`}
    <${RuleKey} rules=${rules} />
    <ol class="ranking" ref=${list}>
      ${rows.map((row) => html`<${Row} key=${row.name} row=${row} rules=${rules} scale=${scale} baseline=${baseline} />`)}
    </ol>
    ${decision.fits > rows.length
      ? html`<p><button type="button" onClick=${more}>${decision.fits - rows.length} more</button></p>`
      : null}
    ${decision.total > decision.fits
      ? html`<p class="quiet">${decision.total - decision.fits} of ${decision.total} nodes refuse the pod.</p>`
      : null}
  `;
}
