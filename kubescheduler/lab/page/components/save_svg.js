// A drawing of the page as a file that stands alone: what its rules make of it is written into its elements.

import { download } from "./download.js";

const SHOWN = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "visibility",
  "display",
];

function written(original, copy) {
  const shown = getComputedStyle(original);
  for (const name of SHOWN) {
    const value = shown.getPropertyValue(name);
    if (value) copy.setAttribute(name, value);
  }
  for (const name of ["class", "tabindex", "style"]) copy.removeAttribute(name);
  [...original.children].forEach((child, at) => written(child, copy.children[at]));
}

// The text of the drawing as an SVG document on the page's own ground.
export function svgText(drawing) {
  const copy = drawing.cloneNode(true);
  written(drawing, copy);
  const box = drawing.getBoundingClientRect();
  const frame = drawing.viewBox.baseVal;
  const [width, height] = frame?.width ? [frame.width, frame.height] : [box.width, box.height];
  copy.setAttribute("width", box.width || width);
  copy.setAttribute("height", box.height || height);
  if (!copy.getAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const ground = document.createElementNS(drawing.namespaceURI, "rect");
  ground.setAttribute("x", frame?.x ?? 0);
  ground.setAttribute("y", frame?.y ?? 0);
  ground.setAttribute("width", width);
  ground.setAttribute("height", height);
  ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(ground);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

export function saveSvg(drawing, name) {
  download(`${name}.svg`, "image/svg+xml", svgText(drawing));
}
