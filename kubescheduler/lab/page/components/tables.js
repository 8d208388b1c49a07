// Tables and bars of data, and what hands them to the person as a file.

import { classes, html } from "../ui.js";

// A table of data: scrolls by itself on a narrow window, reachable by the keyboard.

// columns: [{title, value(row), number?, head?, unseen?}]; rows: records; key(row): what tells rows apart.
export function DataTable({ caption, columns, rows, rowKey, rowClass }) {
  return html`<div class="table" tabindex="0" role="group" aria-label=${caption}>
    <table>
      <caption class="unseen">${caption}</caption>
      <thead>
        <tr>${columns.map((each) => html`<th scope="col" class=${each.number ? "number" : ""}>${each.title}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map((row, at) => html`<tr key=${rowKey?.(row) ?? at} class=${rowClass?.(row)}>${columns.map((each) => cell(each, row))}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

function cell({ value, number, head }, row) {
  if (head) return html`<th scope="row">${value(row)}</th>`;
  return html`<td class=${number ? "number" : ""}>${value(row)}</td>`;
}

// A bar of one resource: what is used, what the asked pod would take (hatched), what is free.

// resource: {name, allocatable, used, ghost, text: {allocatable, used, ghost}}
export function Bar({ resource }) {
  const { name, allocatable, used, ghost, text } = resource;
  const whole = Math.max(allocatable, used, 1);
  const over = used + ghost > allocatable;
  const share = (amount) => `${Math.min(100, (amount / whole) * 100)}%`;
  const rest = Math.max(0, whole - used);
  return html`<div class=${classes("bar-row", over && ghost > 0 && "over")} title=${barText(resource)}>
    <span class="bar-name">${short(name)}</span>
    <span class="bar-track" aria-hidden="true">
      <span class="bar-used" style=${{ width: share(used) }}></span>
      <span class="bar-ghost" style=${{ width: share(Math.min(ghost, rest) || (ghost && whole * 0.03)) }}></span>
    </span>
    <span class="bar-text" aria-hidden="true">${over && ghost > 0 ? "! " : ""}${text.used} / ${text.allocatable}</span>
    <span class="unseen">${barText(resource)}</span>
  </div>`;
}

function barText({ name, allocatable, used, ghost, text }) {
  const base = `${name}: ${text.used} of ${text.allocatable} used`;
  if (!ghost) return base;
  const verdict = used + ghost > allocatable ? ", more than is free" : "";
  return `${base}; this pod asks for ${text.ghost}${verdict}`;
}

// A resource's name without its domain, where that is long.
export function short(name) {
  return name.includes("/") ? name.slice(name.lastIndexOf("/") + 1) : name.replace("ephemeral-storage", "storage");
}

// The button that saves a chart of a screen as a file. What draws it is loaded when it is first pressed.

// kind, chart(): see charts/charts.js. what: the chart's name, for those who hear the button among others.
export function SaveChart({ kind, what, chart }) {
  const save = async (event) => {
    const place = event.currentTarget.parentElement;
    const { saveChart } = await import("../charts/charts.js");
    saveChart(kind, chart(), place);
  };
  return html`<button type="button" class="plain push" aria-label=${`Save as SVG: ${what}`} onClick=${save}>Save as SVG</button>`;
}

// How many of all are drawn, where some are not: a note of a chart.
export function drawnOf(shown, total, what) {
  return shown < total ? [`${shown} of ${total} ${what} are drawn.`] : [];
}

// Hands a text to the person as a file, or to the clipboard.

export function download(name, mediaType, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: mediaType }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Whether the text is now on the clipboard; where that is not permitted the page shows it to be copied by hand.
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
