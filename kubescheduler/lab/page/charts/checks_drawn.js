// Nodes by checks, with the sign of each answer, and why a node is refused.

import { html } from "../ui.js";
import { widest } from "./sheet.js";

const ROW = 24;
const CELL = 34;
const GAP = 14;
// Letters of a reason that are drawn; the rest is in its title.
const MOST = 110;
const SIGNS = { "✓": "var(--fit)", "✗": "var(--refuse)", "?": "var(--text)" };

// chart: {columns: [{title, note}], rows: [{name, sign, reasons, cells: [{text, kind}]}], all}
export function checksDrawn({ columns, rows, all }, ink) {
  const names = widest(rows.map((row) => `✓ ${row.name}`), 600);
  const head = widest(columns.map((column) => column.title), 600) + 30;
  const left = names + GAP;
  const right = left + columns.length * CELL + GAP;
  const colours = { refuses: ink("var(--refuse)"), would: ink("var(--refuse)"), passes: ink("var(--quiet)") };
  const soft = ink("var(--refuse-soft)");
  const middle = (at) => left + at * CELL + CELL / 2;
  const body = html`<g>
    <g font-weight="600">
      <text y=${head - 8}>Node</text><text x=${right} y=${head - 8}>Why not</text>
      ${columns.map(
        (column, at) => html`<text transform=${`translate(${middle(at) + 4} ${head - 28}) rotate(-90)`}>${column.title}</text>
          <text x=${middle(at)} y=${head - 8} text-anchor="middle" fill=${colours.refuses}>${column.note}</text>`,
      )}
    </g>
    ${rows.map(
      (row, at) => html`<g transform=${`translate(0 ${head + at * ROW})`}>
        <path d=${`M0 0H${right}`} stroke=${ink("var(--line)")} />
        <text y="16" font-weight=${row.sign === "✓" ? 600 : 400}><tspan fill=${ink(SIGNS[row.sign])}>${row.sign}</tspan> ${row.name}</text>
        ${row.cells.map(
          (cell, number) => html`${cell.kind === "refuses" ? html`<rect x=${left + number * CELL + 1} y="1" width=${CELL - 2} height=${ROW - 2} fill=${soft} />` : null}
            <text x=${middle(number)} y="16" text-anchor="middle" font-weight=${cell.kind === "refuses" ? 700 : 400} fill=${colours[cell.kind]}>${cell.text}</text>`,
        )}
        <text x=${right} y="16" fill=${ink("var(--quiet)")}><title>${row.reasons}</title>${cut(row.reasons)}</text>
      </g>`,
    )}
  </g>`;
  const width = right + widest([...rows.map((row) => cut(row.reasons)), "Why not"], 600);
  return { body, width, height: head + rows.length * ROW, keys: signKeys(colours, all) };
}

function cut(text) {
  return text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text;
}

function signKeys(colours, all) {
  const sign = (text, colour) => html`<text y="11" fill=${colour} font-weight="700">${text}</text>`;
  return [
    { wide: 14, text: "lets the pod on", sample: sign("✓", colours.passes) },
    { wide: 14, text: "refuses, and the release reports it", sample: sign("✗", colours.refuses) },
    all
      ? { wide: 24, text: "would refuse too", sample: sign("(✗)", colours.would) }
      : { wide: 0, text: "blank: the release does not say", sample: null },
  ];
}
