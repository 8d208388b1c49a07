// Scores of nodes: totals as bars of parts, or a lane for each rule.

import { edged, letter, shading } from "../components/shades.js";
import { html } from "../ui.js";
import { widest } from "./sheet.js";

const ROW = 24;
const BAR = 520;
const TALL = 16;
const GAP = 12;
const LANE = 64;
// A part that is narrower has no room for its letter.
const LETTERED = 12;

// A bar in the colour of its rule.
function shaded(rule, { x = 0, y = 0, wide, high }, ink) {
  const { backgroundColor, color } = shading(rule.id);
  const edges = edged(rule.id) ? [y, y + high - 2].map((top) => html`<rect x=${x} y=${top} width=${wide} height="2" fill=${ink(color)} />`) : null;
  return html`<rect x=${x} y=${y} width=${wide} height=${high} fill=${ink(backgroundColor)} />${edges}`;
}

function ruleKeys(rules, ink) {
  return rules.map((rule) => {
    const { color } = shading(rule.id);
    return {
      wide: 20,
      text: `${rule.title} × ${rule.weight}`,
      sample: html`${shaded(rule, { wide: 20, high: 14 }, ink)}
        <text x="10" y="11.5" font-size="11" text-anchor="middle" fill=${ink(color)}>${letter(rule.id)}</text>`,
    };
  });
}

const TOTAL = { title: "Total", value: (row) => row.total };

// Rank, name and tail of each row, and where what is between them begins.
function framed(rows, middle, ink, { header, tail = TOTAL } = {}) {
  const ranks = widest(rows.map((row) => `${row.rank}`));
  const names = widest(rows.map(nameOf), 700);
  const totals = widest([...rows.map((row) => `${tail.value(row)}`), tail.title], 700);
  const left = ranks + 8 + names + GAP;
  const right = left + middle + GAP + totals;
  const frame = html`<g>
    <g font-weight="600" fill=${ink("var(--quiet)")}>
      <text x=${ranks + 8} y="14">Node</text><text x=${right} y="14" text-anchor="end">${tail.title}</text>${header?.(left)}
    </g>
    ${rows.map((row, at) => {
      const y = (at + 1) * ROW + 14;
      return html`<g font-weight=${row.chosen ? 700 : 400}>
        <text x=${ranks} y=${y} text-anchor="end" fill=${ink("var(--quiet)")}>${row.rank}</text>
        <text x=${ranks + 8} y=${y}>${nameOf(row)}</text>
        <text x=${right} y=${y} text-anchor="end">${tail.value(row)}</text>
      </g>`;
    })}
  </g>`;
  return { frame, left, width: right, height: (rows.length + 1) * ROW };
}

function nameOf(row) {
  return row.chosen ? `${row.name} ✓ chosen` : row.name;
}

// chart: {rules: [{id, title, weight}], rows: [{rank, name, total, chosen, scores}], hidden: ids that are not in the bars,
// scale: the points that fill a bar}
export function totalsDrawn({ rules, rows, hidden, scale }, ink) {
  const { frame, left, width, height } = framed(rows, BAR, ink);
  const bars = rows.map((row, at) => {
    let x = left;
    const y = (at + 1) * ROW + 1;
    const parts = rules.map((rule) => {
      const value = hidden?.has(rule.id) ? 0 : Math.max(0, row.scores[rule.id]?.product ?? 0);
      const wide = (BAR * value) / (scale || 1);
      const from = x;
      x += wide;
      return wide ? part({ rule, value, x: from, y, wide }, ink) : null;
    });
    return html`<g><rect x=${left} y=${y} width=${BAR} height=${TALL} fill=${ink("var(--free)")} />${parts}</g>`;
  });
  return { body: [frame, ...bars], width, height, keys: ruleKeys(rules, ink) };
}

function part({ rule, value, x, y, wide }, ink) {
  const { color } = shading(rule.id);
  const label = wide >= LETTERED && html`<text x=${x + wide / 2} y=${y + 12} font-size="11" text-anchor="middle" fill=${ink(color)}>${letter(rule.id)}</text>`;
  return html`<g>
    <title>${rule.title}: ${value}</title>
    ${shaded(rule, { x, y, wide: Math.max(0.5, wide - 1), high: TALL }, ink)}
    ${label || null}
  </g>`;
}

// chart: as above, with value(row, rule): the number of a lane, or null; scales: rule's id → the number that fills a lane.
export function lanesDrawn({ rules, rows, value, scales, tail }, ink) {
  const numbers = rules.map((rule) => widest(rows.map((row) => `${value(row, rule) ?? "–"}`)));
  const starts = [];
  let middle = 0;
  for (const wide of numbers) {
    starts.push(middle);
    middle += LANE + 6 + wide + GAP;
  }
  const header = (left) => rules.map((rule, at) => html`<text x=${left + starts[at]} y="14">${letter(rule.id)}</text>`);
  const { frame, left, width, height } = framed(rows, Math.max(0, middle - GAP), ink, { header, tail });
  const lanes = rows.map((row, at) => {
    const y = (at + 1) * ROW;
    return rules.map((rule, number) => {
      const found = value(row, rule);
      const wide = Math.min(1, Math.abs(found ?? 0) / (scales[rule.id] ?? 1)) * LANE;
      const x = left + starts[number];
      return html`<g>
        ${shaded(rule, { x, y: y + 4, wide, high: 10 }, ink)}
        <text x=${x + LANE + 6 + numbers[number]} y=${y + 14} text-anchor="end">${found ?? "–"}</text>
      </g>`;
    });
  });
  return { body: [frame, ...lanes], width, height, keys: ruleKeys(rules, ink) };
}
