// A grid of rows by columns of which only what is in view is drawn. One stop of the Tab key; arrows walk the cells.

import { classes, html, humps, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";
import { useRem } from "./pages.js";

const AROUND = 8;
const LEAP = 10;
// The least width of a bar of parts, in rem.
const STACK = 8;

// columns: [{id, title, note?}]; count: of all rows; row(at): its record or undefined until it came.
// head(record): the row's first cell; cell(record, column): {text, label, kind, style?}; tail?(record): the last cell.
// open(record, column | null): a cell was chosen. sizes in rem: {head, row, name, cell, tail, stretch?, upright?, tailStretch?}:
// stretch: cells share what is left; tailStretch: the last cell does; upright: titles stand on end. layout: "grid" | "stack"
export function Matrix({ label, corner, columns, count, row, head, cell, tail, tailTitle, open, chosen, sizes: given, layout = "grid", onRange, rowClass }) {
  const place = useRef(null);
  const rem = useRem();
  const [view, setView] = useState({ from: 0, to: 40 });
  const [at, setAt] = useState({ row: 0, column: -1 });
  const wanted = useRef(false);
  const sizes = { ...given, name: Math.min(given.name, Math.max(8, (innerWidth / rem) * 0.36)) };
  const height = sizes.row * rem;
  const measure = () => {
    const { scrollTop, clientHeight } = place.current;
    const from = Math.max(0, Math.floor(scrollTop / height) - AROUND);
    const to = Math.min(count, Math.ceil((scrollTop + clientHeight) / height) + AROUND);
    if (from !== view.from || to !== view.to) setView({ from, to });
  };
  useEffect(measure, [count, height]);
  useEffect(() => onRange?.(view), [view.from, view.to]);
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const target = place.current.querySelector('[tabindex="0"]');
    if (target) {
      wanted.current = false;
      target.focus({ preventScroll: true });
      target.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  });
  const go = (next) => {
    wanted.current = true;
    setAt(next);
    keepInView(place.current, next.row, height, sizes.head * rem);
  };
  const keys = (event) => {
    const next = moved(event, at, count, columns.length);
    if (!next) return;
    event.preventDefault();
    go(next);
  };
  const shown = [];
  for (let index = view.from; index < Math.min(view.to, count); index += 1) shown.push(index);
  if (at.row < count && !shown.includes(at.row)) shown.push(at.row);
  const template = { gridTemplateColumns: tracks(sizes, columns.length, layout, tail) };
  const part = { columns, head, cell, tail, open, chosen, layout, at, setAt, template, rowClass };
  const width = sizes.name + (layout === "stack" ? STACK : columns.length * sizes.cell) + (tail ? sizes.tail : 0);
  return html`<div class=${classes("matrix", `in-${layout}`, sizes.upright && "upright")} ref=${place} role="grid" aria-label=${label} aria-rowcount=${count + 1} onKeyDown=${keys} onScroll=${measure}>
    <div class="matrix-inner" role="presentation" style=${{ width: `max(100%, ${width}rem)` }}>
    <div class="matrix-row matrix-head" role="row" aria-rowindex="1" style=${{ ...template, height: `${sizes.head}rem` }}>
      <span class="corner" role="columnheader">${corner}</span>
      ${
        layout === "grid"
          ? columns.map((column) => html`<span key=${column.id} role="columnheader" title=${column.title}>
              <span class="column-title">${humps(column.title)}</span>${column.note && html`<small>${column.note}</small>`}
            </span>`)
          : html`<span role="columnheader">${columns.map((column) => column.short).join(" + ")}</span>`
      }
      ${tail && html`<span class="tail" role="columnheader">${tailTitle}</span>`}
    </div>
    <div class="matrix-body" role="rowgroup" style=${{ height: `${count * sizes.row}rem` }}>
      ${shown.map((index) => html`<${Row} key=${index} index=${index} record=${row(index)} top=${index * sizes.row} height=${sizes.row} ...${part} />`)}
    </div>
    </div>
  </div>`;
}

function tracks({ name, cell, tail: tailWidth, stretch, tailStretch }, count, layout, tail) {
  const last = tailStretch ? `minmax(${tailWidth}rem, 1fr)` : `${tailWidth}rem`;
  const one = stretch ? `minmax(${cell}rem, 1fr)` : `${cell}rem`;
  const cells = layout === "stack" ? `minmax(${STACK}rem, 1fr)` : count ? `repeat(${count}, ${one})` : "";
  return `${name}rem ${cells} ${tail ? last : stretch || layout === "stack" ? "" : "1fr"}`;
}

function Row({ index, record, top, height, columns, head, cell, tail, open, chosen, layout, at, setAt, template, rowClass }) {
  const style = { ...template, top: `${top}rem`, height: `${height}rem` };
  if (!record) return html`<div class="matrix-row waiting" role="row" aria-rowindex=${index + 2} style=${style}><span role="gridcell">…</span></div>`;
  const stop = (column) => (at.row === index && at.column === column ? 0 : -1);
  const choose = (column, number) => () => {
    setAt({ row: index, column: number });
    open(record, column);
  };
  const parts = columns.map((column, number) => {
    const { text, label, kind, style: own } = cell(record, column, number);
    const here = chosen && chosen.node === record.name && chosen.id === column.id;
    return html`<button
      key=${column.id}
      type="button"
      role="gridcell"
      class=${classes("cell", kind, here && "here")}
      tabindex=${stop(number)}
      aria-label=${label}
      title=${label}
      style=${own}
      onClick=${choose(column, number)}
    >
      ${text}
    </button>`;
  });
  return html`<div class=${classes("matrix-row", rowClass?.(record))} role="row" aria-rowindex=${index + 2} style=${style}>
    <span role="rowheader" class="row-head">
      <button type="button" class="plain" tabindex=${stop(-1)} onClick=${choose(null, -1)}>${head(record)}</button>
    </span>
    ${layout === "stack" ? html`<span class="stack-cells" role="presentation">${parts}</span>` : parts}
    ${tail && html`<span role="gridcell" class="tail">${tail(record)}</span>`}
  </div>`;
}

function moved(event, { row, column }, rows, columns) {
  const far = event.ctrlKey || event.metaKey;
  const by = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    PageUp: [-LEAP, 0],
    PageDown: [LEAP, 0],
    Home: [far ? -rows : 0, -columns - 1],
    End: [far ? rows : 0, columns + 1],
  }[event.key];
  if (!by) return null;
  const within = (value, low, high) => Math.max(low, Math.min(high, value));
  return { row: within(row + by[0], 0, rows - 1), column: within(column + by[1], -1, columns - 1) };
}

function keepInView(place, row, height, head) {
  const top = row * height;
  if (top < place.scrollTop) place.scrollTop = top;
  else if (top + height + head > place.scrollTop + place.clientHeight) {
    place.scrollTop = top + height + head - place.clientHeight;
  }
}
