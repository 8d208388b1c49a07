// A drawing that stands alone: an SVG document with its title, its description, its key, and no colour but literal ones.

import { download } from "../components/tables.js";
import { html, render } from "../ui.js";

const FONT = "system-ui, sans-serif";
const SIZE = 13;
const MARGIN = 16;
const HEAD = 24;
// A viewer's font may be wider than this page's.
const SLACK = 1.06;
const LEAST_WIDTH = 360;
// What an XML document cannot hold.
const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const LINE = 20;

const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

// How wide a text is, in the units of the drawing.
export function textWidth(text, weight = 400) {
  pen.font = `${weight} ${SIZE}px ${FONT}`;
  return Math.ceil(pen.measureText(text).width * SLACK);
}

export function widest(texts, weight) {
  return texts.reduce((most, text) => Math.max(most, textWidth(text, weight)), 0);
}

// A function from an expression of CSS, as it counts at an element, to the colour as #rrggbb.
export function inksAt(element) {
  const known = new Map();
  return (expression) => {
    if (!known.has(expression)) known.set(expression, resolved(element, expression));
    return known.get(expression);
  };
}

function resolved(element, expression) {
  const probe = document.createElement("span");
  probe.style.setProperty("color", expression);
  element.append(probe);
  pen.fillStyle = getComputedStyle(probe).color;
  probe.remove();
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
  return `#${[red, green, blue].map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}

// Keys side by side, in as many lines as they take. keys: [{sample, wide, text}]; sample: elements of `wide` × 14.
function placedKeys(keys, width) {
  let [x, y] = [0, 0];
  const placed = keys.map(({ sample, wide, text }) => {
    const takes = wide + 6 + textWidth(text) + 18;
    if (x && x + takes > width) [x, y] = [0, y + LINE];
    const at = `translate(${x} ${y})`;
    x += takes;
    return html`<g transform=${at}>${sample}<text x=${wide + 6} y="11">${text}</text></g>`;
  });
  return [placed, keys.length ? y + LINE : 0];
}

// title, text: what is drawn, and what it says, both also for those who only hear it. body: elements from (0, 0) of
// width × height. keys: as above. notes: what is not drawn. ink: see inksAt.
function svgText({ title, text, ink, body, width, height, keys = [], notes = [] }) {
  const inner = Math.max(LEAST_WIDTH, width, textWidth(title, 700), widest([text, ...notes]));
  const [key, keyHeight] = placedKeys(keys, inner);
  const top = MARGIN + HEAD + LINE + 8;
  const below = top + height + 14;
  const full = [inner + 2 * MARGIN, below + keyHeight + notes.length * LINE + MARGIN - 4].map(Math.ceil);
  const host = document.createElement("div");
  render(
    html`<svg width=${full[0]} height=${full[1]} viewBox=${`0 0 ${full[0]} ${full[1]}`} role="img" font-family=${FONT} font-size=${SIZE} fill=${ink("var(--text)")}>
      <title>${title}</title>
      <desc>${[text, ...notes].join(" ")}</desc>
      <rect width=${full[0]} height=${full[1]} fill=${ink("var(--page)")} />
      <text x=${MARGIN} y=${MARGIN + 14} font-weight="700" font-size="15">${title}</text>
      <text x=${MARGIN} y=${MARGIN + HEAD + 12}>${text}</text>
      <g transform=${`translate(${MARGIN} ${top})`}>${body}</g>
      <g transform=${`translate(${MARGIN} ${below})`}>${key}</g>
      <g transform=${`translate(${MARGIN} ${below + keyHeight})`} fill=${ink("var(--quiet)")}>
        ${notes.map((each, at) => html`<text y=${at * LINE + 11}>${each}</text>`)}
      </g>
    </svg>`,
    host,
  );
  const written = new XMLSerializer().serializeToString(host.firstChild).replace(NOT_XML, "\uFFFD");
  return `<?xml version="1.0" encoding="UTF-8"?>\n${written}\n`;
}

export function save(name, drawing) {
  download(`${name}.svg`, "image/svg+xml", svgText(drawing));
}
