// What Why shows of each stage of an attempt: checks, scores, equal nodes, extenders, preemption.

import { useAnswer } from "../api.js";
import { Choice } from "../components/controls.js";
import { Matrix } from "../components/matrix.js";
import { letter, RuleKey, shading } from "../components/shades.js";
import { Answered } from "../components/states.js";
import { DataTable, drawnOf, SaveChart } from "../components/tables.js";
import { side } from "../store.js";
import { classes, html, useMemo, useState } from "../ui.js";

// Where a decision sends the pod, in one line of text.
export function goesTo({ pod, host, message, release }) {
  return host ? `${pod} goes to ${host} by release ${release}.` : `${pod} by release ${release}: ${message}`;
}

// Node × check: ✗ where a check refuses a node. Each cell opens its evidence.

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
            head=${checkedHead}
            cell=${(node, column) => verdictCell(node, column, all)}
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

function checkedHead(node) {
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
  const { pod, release, fits, nodesTotal, total, tried } = pages.head;
  const nodes = pages.known(total);
  const rows = nodes.map((node) => ({
    name: node.name,
    sign: node.undecided ? "?" : node.fits ? "✓" : "✗",
    reasons: reasonsOf(node),
    cells: columns.map((column) => verdictCell(node, column, all)),
  }));
  const text = `${pod} by release ${release}: ${tried ? `${fits} of ${nodesTotal} nodes fit` : "not tried"}.`;
  return { name: "checks", title: "Nodes by checks", text, notes: drawnOf(nodes.length, nodesTotal, "nodes"), columns, rows, all };
}

function verdictCell(node, column, all) {
  const reasons = node.refused[column.id];
  const where = `${node.name}, ${column.title}`;
  if (reasons) {
    const reported = node.reported.includes(column.id);
    return { text: reported ? "✗" : "(✗)", kind: reported ? "refuses" : "would", label: `${where}: ${reasons.join("; ")}` };
  }
  if (node.fits || all) return { text: "✓", kind: "passes", label: `${where}: passes` };
  return { text: "", kind: "silent", label: `${where}: not said` };
}

// The scores of a decision as they are drawn in a file: the nodes that came yet, in the order of their ranks.

const TITLES = { raw: "Raw scores", normalised: "Normalised scores", product: "Totals: scores × weights" };

// mode: "raw" | "normalised" | "product"; hidden, scales, tail: of the screen.
function scoresChart(pages, { mode, hidden, scales, tail, notes }) {
  const { rules, fits, fitting, ties } = pages.head;
  const rows = pages.known(fitting).filter((node) => node.fits);
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

// Node × rule: raw scores, normalised ones, and these times the weights as one stacked bar. Each part opens its formula.

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

export function ScoreStep({ pages, start, finder, find, chosen, onChoose, onRange }) {
  const [mode, setMode] = useState(start);
  const [differing, setDiffering] = useState(null);
  const { rules, fits, fitting, scoredText, ties } = pages.head;
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
      count=${fitting}
      row=${pages.row}
      head=${(node) => scoredHead(node, ties)}
      cell=${(node, column) => scoreCell(node, column, mode, scales, hidden)}
      tail=${TAILS[mode].value}
      tailTitle=${TAILS[mode].title}
      open=${open}
      chosen=${chosen}
      sizes=${stacked ? STACK : LANES}
      layout=${stacked ? "stack" : "grid"}
      onRange=${onRange}
      rowClass=${(node) => classes(node.chosen && "winner", node.best && "best")}
    />
    ${find && !fitting && html`<p class="quiet">No node that fits has “${find}” in its name.</p>`}
    <${RuleKey} rules=${rules} />
  `;
}

function scoredHead(node, ties) {
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

function scoreCell(node, column, mode, scales, hidden) {
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

// Nodes that share the best total.

const MOST = 12;

export function Ties({ ties }) {
  if (!ties) return null;
  const { total } = ties;
  const named = ties.nodes.slice(0, MOST);
  return html`<div class="note">
    <p><strong>= ${total} nodes share the highest total:</strong> ${named.join(", ")}${total > named.length ? ` and ${total - named.length} more` : ""}.</p>
    ${ties.text && html`<p>${ties.text}</p>`}
  </div>`;
}

// Which nodes room could be made on, at whose cost, and by which rule one of them was taken.

export function Preemption({ preemption }) {
  if (!preemption) return null;
  const { text, candidates, candidatesTotal, rules, tie } = preemption;
  return html`
    ${text && html`<p>${text}</p>`}
    ${candidates.length > 0 && html`<${DataTable} caption="Candidates" columns=${COLUMNS} rows=${candidates} rowKey=${(row) => row.node} rowClass=${(row) => (row.chosen ? "chosen" : "")} />`}
    ${candidatesTotal > candidates.length && html`<p class="quiet">${candidates.length} of ${candidatesTotal} candidates are shown; the rules compare all.</p>`}
    ${
      rules.length > 0 &&
      html`<h4>Which candidate: the rules in their order</h4>
        <ol class="ladder">
          ${rules.map(
            (rule) => html`<li class=${classes(rule.decided && "decided")}>
              <p>${rule.decided ? html`<strong>✓ ${rule.text}</strong> decided` : rule.text}</p>
              <${Compared} rule=${rule} />
            </li>`,
          )}
        </ol>`
    }
    ${tie && html`<p class="quiet">${tie}</p>`}
  `;
}

// What the rule compared, by node; one node alone is not compared.
function Compared({ rule }) {
  const more = rule.leftTotal - rule.left.length;
  if (rule.compared.length < 2) return html`<p class="quiet">left: ${rule.left.join(", ")}${more ? ` and ${more} more` : ""}</p>`;
  return html`<ul class="compared">
    ${rule.compared.map(
      ({ node, number, left }) => html`<li class=${left ? "" : "quiet"}>
        <span class=${left ? "fits" : ""} aria-hidden="true">${left ? "✓" : "–"}</span> ${node} <b>${number}</b><span class="unseen">${left ? ", left" : ", out"}</span>
      </li>`,
    )}
  </ul>`;
}

const COLUMNS = [
  { title: "Node", head: true, value: (row) => `${row.chosen ? "✓ " : ""}${row.node}` },
  { title: "Pods that would go", value: (row) => html`<${Victims} victims=${row.victims} />` },
];

function Victims({ victims }) {
  return html`<ul>
    ${victims.map(
      ({ key, priority, pdbViolated }) => html`<li>
        ${key} <span class="quiet">priority ${priority}</span>
        ${pdbViolated && html` <span class="chip refuse">! against its disruption budget</span>`}
      </li>`,
    )}
  </ul>`;
}

// What was asked of each extender over HTTP, and what it answered.

// part: "filter" | "score". error: what ended the attempt, if an error did.
export function Extenders({ extenders, part, error }) {
  const verb = part === "filter" ? "filter" : "prioritize";
  const shown = extenders.map((each, at) => ({ ...each, at })).filter((each) => each.request.verbs[verb]);
  if (!shown.length) return null;
  return html`<section class="extenders">
    <h4>Extenders</h4>
    ${shown.map((each) => html`<${Extender} extender=${each} part=${part} verb=${verb} ended=${error} />`)}
  </section>`;
}

function Extender({ extender, part, verb, ended }) {
  const { name, weight, request, scores, error } = extender;
  const refused = extender.refused && Object.entries(extender.refused).map(([node, reason]) => ({ node, reason }));
  const answer = part === "filter" ? refused : scores;
  const more = extender[part === "filter" ? "refusedTotal" : "scoresTotal"] - (answer?.length ?? 0);
  return html`<article class="evidence">
    <h3 class="mono">${name}${part === "score" ? ` × ${weight}` : ""}</h3>
    ${error && html`<p class="refused">! ${error}</p>`}
    ${!error && !answer && html`<p class=${ended ? "refused" : "quiet"}>${unanswered(request, ended)}</p>`}
    ${part === "filter" && refused?.length === 0 && html`<p>It gives no reason against any node.</p>`}
    ${part === "filter" && refused?.length > 0 && html`<${DataTable} caption=${`Nodes that ${name} refuses`} columns=${REFUSED} rows=${refused} />`}
    ${part === "score" && scores && html`<${DataTable} caption=${`Scores of ${name}`} columns=${SCORES} rows=${scores} />`}
    ${more > 0 && html`<p class="quiet">and ${more} more</p>`}
    <${Call} key=${`${extender.at} ${verb}`} extender=${extender} verb=${verb} />
  </article>`;
}

function unanswered({ interested }, ended) {
  if (!interested) return "It is not asked about this pod, which asks for none of its resources.";
  return ended ? `! It gave no answer that counts; the attempt ended in: ${ended}` : "It was not asked.";
}

// What was posted to it, asked for when it is opened.
function Call({ extender, verb }) {
  const [open, setOpen] = useState(false);
  return html`<details open=${open} onToggle=${(event) => setOpen(event.target.open)}>
    <summary>What it is sent</summary>
    ${open && html`<${Request} at=${extender.at} verb=${verb} />`}
    <p>${extender.request.ignorable ? "When it fails, it is passed over." : verb === "filter" ? "When it fails, the attempt fails." : "When it fails, it gives no points."}</p>
  </details>`;
}

function Request({ at, verb }) {
  const known = useAnswer("extenderRequest", { side: side.value.id, extender: at, verb }, { slot: `request ${at} ${verb}` });
  return html`<${Answered} known=${known} text="Writing the request again">
    ${({ why, request }) => (request ? html`<${Posted} request=${request} />` : html`<p class="quiet">Nothing: ${why}.</p>`)}
  </${Answered}>`;
}

function Posted({ request }) {
  const { method, url, headers, nodes, bytes, body, cut } = request;
  return html`<p class="mono">${method} ${url}</p>
    ${headers.map((each) => html`<p class="mono quiet">${each}</p>`)}
    <p>The pod and ${nodes} ${nodes === 1 ? "node" : "nodes"}, ${bytes.toLocaleString("en")} bytes${cut ? "; this is its beginning" : ""}, here in lines:</p>
    <pre class="sent" tabindex="0" role="region" aria-label=${`Body of ${method} ${url}`}>${body}${cut ? "\n…" : ""}</pre>`;
}

const REFUSED = [
  { title: "Node", head: true, value: (row) => row.node },
  { title: "Reason", value: (row) => row.reason },
];
const SCORES = [
  { title: "Node", head: true, value: (row) => row.node },
  { title: "Score", number: true, value: (row) => row.score },
];
