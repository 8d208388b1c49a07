// What a rule said of a node, with the numbers that it looked at and where the rule is described.

import { openLater } from "../dialogs.js";
import { side } from "../store.js";
import { html } from "../ui.js";

// refusal: {rule, upstream, page, reason, text, facts}
export function Refusal({ refusal }) {
  const { rule, upstream, reason, text, facts } = refusal;
  return html`<article class="evidence">
    <h3>${rule}</h3>
    <p class="reason"><span class="sign refused" aria-hidden="true">✗</span> ${reason}</p>
    ${text && text !== reason && html`<p>${text}</p>`}
    <${Facts} facts=${facts} caption=${`What ${rule} looked at`} />
    <${RuleLinks} rule=${rule} upstream=${upstream} />
  </article>`;
}

// Names and values, as they come; a list of records becomes a table of its own.
export function Facts({ facts, caption }) {
  const rows = Object.entries(facts ?? {}).filter(([, value]) => typeof value !== "boolean");
  if (!rows.length) return null;
  return html`<table class="facts">
    <caption class="unseen">${caption}</caption>
    <tbody>
      ${rows.map(([name, value]) => html`<${Fact} name=${name} value=${value} />`)}
    </tbody>
  </table>`;
}

function Fact({ name, value }) {
  if (Array.isArray(value) && value.length && typeof value[0] === "object") {
    return html`<tr><td colspan="2" class="nested"><${Records} records=${value} name=${name} /></td></tr>`;
  }
  return html`<tr><th scope="row">${spaced(name)}</th><td>${shown(value)}</td></tr>`;
}

function Records({ records, name }) {
  const titles = Object.keys(records[0]);
  return html`<table class="records">
    <caption>${spaced(name)}</caption>
    <thead><tr>${titles.map((title) => html`<th scope="col">${spaced(title)}</th>`)}</tr></thead>
    <tbody>
      ${records.map((each) => html`<tr>${titles.map((title) => html`<td>${shown(each[title])}</td>`)}</tr>`)}
    </tbody>
  </table>`;
}

export function RuleLinks({ rule, upstream }) {
  const open = () => openLater("rule", { rule, release: side.value.release });
  return html`<p class="rule-links">
    <button type="button" class="plain" onClick=${open}>What ${rule} does</button>
    ${upstream && html`<span class="quiet">upstream: <code>${upstream}</code></span>`}
  </p>`;
}

function spaced(name) {
  return name.replaceAll("_", " ").replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
}

// A value as text: lists and maps in their parts.
export function shown(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (Array.isArray(value)) return value.length ? value.map(shown).join(", ") : "none";
  if (typeof value === "object") {
    return Object.entries(value).map(([key, each]) => `${spaced(key)} ${shown(each)}`).join(", ");
  }
  if (typeof value === "boolean") return value ? "✓ yes" : "✗ no";
  return String(value);
}

// How one score came about: what went in, the formula with the numbers in it, the scale, the weight.

// score: {rule, upstream, inputs, formula, raw, normalisation, normalised, weight, product, sentence?}
export function Formula({ score }) {
  const { rule, upstream, inputs, formula, raw, normalisation, normalised, weight, product, sentence } = score;
  return html`<article class="evidence formula">
    <h3>${rule}</h3>
    ${sentence && html`<p>${sentence}</p>`}
    <ol>
      <li><span class="quiet">raw</span> ${formula && html`<code>${formula}</code>`} <b>= ${raw}</b></li>
      <li><span class="quiet">normalised</span> ${normalisation ? html`<code>${normalisation}</code>` : html`<span class="quiet">as it is</span>`} <b>= ${normalised}</b></li>
      <li><span class="quiet">× weight</span> <code>${normalised} × ${weight}</code> <b>= ${product}</b></li>
    </ol>
    <${Facts} facts=${inputs} caption=${`What ${rule} looked at`} />
    <${RuleLinks} rule=${rule} upstream=${upstream} />
  </article>`;
}
