// Node × check: ✗ where a check refuses a node. Each cell opens its evidence.

import { Choice } from "../components/fields.js";
import { Matrix } from "../components/matrix.js";
import { SaveChart, drawnOf } from "../components/save_chart.js";
import { html, useState } from "../ui.js";

const SIZES = { head: 12, row: 2, name: 11, cell: 2.125, tail: 16, tailStretch: true, upright: true };

const EXTENT = [
  ["stops", "As the release stops"],
  ["all", "All checks"],
];

export function FilterStep({ pages, all, onAll, finder, find, chosen, onChoose, onRange }) {
  const [refusing, setRefusing] = useState(false);
  const { checks, total } = pages.head;
  const shown = refusing ? checks.filter((each) => each.refuses) : checks;
  const columns = shown.map((each) => ({ id: each.id, title: each.title, note: each.refuses || "" }));
  const open = (node, column) => onChoose({ node: node.name, kind: "check", id: column?.id ?? null });
  const chart = () => checksChart(pages, columns, all);
  return html`
    <div class="toolbar">
      ${finder}
      <${Choice} name="extent" label="Which checks" value=${all ? "all" : "stops"} choices=${EXTENT} onChange=${(value) => onAll(value === "all")} />
      <label class="tick">
        <input type="checkbox" checked=${refusing} onChange=${(event) => setRefusing(event.target.checked)} /> only checks that refuse
      </label>
      ${total > 0 && html`<${SaveChart} kind="checks" what="nodes by checks" chart=${chart} />`}
    </div>
    ${
      total
        ? html`<${Matrix}
            label="Nodes by checks"
            corner="Node"
            columns=${columns}
            count=${total}
            row=${pages.row}
            head=${head}
            cell=${(node, column) => cell(node, column, all)}
            tail=${(node) => html`<${Reasons} node=${node} />`}
            tailTitle="Why not"
            open=${open}
            chosen=${chosen}
            sizes=${SIZES}
            onRange=${onRange}
          />`
        : html`<p class="quiet">${find ? `No node has “${find}” in its name.` : "The cluster has no node."}</p>`
    }
    <p class="quiet key-line">
      ✓ lets the pod on · <span class="refused">✗</span> refuses, and the release reports it ·
      ${all ? " (✗) would refuse too · " : " "}blank: the release does not say
    </p>
  `;
}

function head(node) {
  if (node.undecided) return html`<span aria-hidden="true">?</span> ${node.name}<span class="unseen">, not decided</span>`;
  return html`<span class=${node.fits ? "fits" : "refused"} aria-hidden="true">${node.fits ? "✓" : "✗"}</span> ${node.name}<span
      class="unseen"
      >, ${node.fits ? "fits" : "refused"}</span
    >`;
}

function reasonsOf(node) {
  if (node.leftOut) return "an extender's answer leaves it out, without a reason";
  return node.reported.flatMap((check) => node.refused[check] ?? []).join("; ");
}

function Reasons({ node }) {
  const text = reasonsOf(node);
  return html`<span class="reasons" title=${text}>${text}</span>`;
}

// The matrix as it is drawn in a file: the nodes that came yet.
function checksChart(pages, columns, all) {
  const { pod, release, fits, total } = pages.head;
  const nodes = pages.known(total);
  const rows = nodes.map((node) => ({
    name: node.name,
    sign: node.undecided ? "?" : node.fits ? "✓" : "✗",
    reasons: reasonsOf(node),
    cells: columns.map((column) => cell(node, column, all)),
  }));
  const text = `${pod} by release ${release}: ${fits} of ${total} nodes fit.`;
  return { name: "checks", title: "Nodes by checks", text, notes: drawnOf(nodes.length, total, "nodes"), columns, rows, all };
}

function cell(node, column, all) {
  const reasons = node.refused[column.id];
  const where = `${node.name}, ${column.title}`;
  if (reasons) {
    const reported = node.reported.includes(column.id);
    return { text: reported ? "✗" : "(✗)", kind: reported ? "refuses" : "would", label: `${where}: ${reasons.join("; ")}` };
  }
  if (node.fits || all) return { text: "✓", kind: "passes", label: `${where}: passes` };
  return { text: "", kind: "silent", label: `${where}: not said` };
}
