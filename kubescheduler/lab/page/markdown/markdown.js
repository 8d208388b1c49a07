// A text of Markdown as elements. What the text says becomes text nodes; no markup of its own is taken.

import { html } from "../ui.js";
import { markdownBlocks } from "./blocks.js";

const PARTS = {
  text: (part) => part.text,
  code: (part) => html`<code>${part.text}</code>`,
  span: (part) => inline(part.parts),
  emphasis: (part) => html`<em>${inline(part.parts)}</em>`,
  strong: (part) => html`<strong>${inline(part.parts)}</strong>`,
  link: (part) => html`<a href=${part.address} rel="noreferrer noopener" target="_blank">${inline(part.parts)}</a>`,
};

function inline(parts) {
  return parts.map((part) => PARTS[part.is](part));
}

function heading({ level, parts }, top) {
  const name = `h${Math.min(level + top - 1, 6)}`;
  return html`<${name}>${inline(parts)}</${name}>`;
}

function table({ head, rows }) {
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="Table of the task">
    <table>
      <thead>
        <tr>${head.map((cell) => html`<th scope="col">${inline(cell)}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

// An item of one paragraph is that paragraph's words, without the space around paragraphs.
function item(blocks, top) {
  if (blocks[0]?.is !== "paragraph") return html`<li>${all(blocks, top)}</li>`;
  return html`<li>${inline(blocks[0].parts)}${all(blocks.slice(1), top)}</li>`;
}

const BLOCKS = {
  heading,
  paragraph: (block) => html`<p>${inline(block.parts)}</p>`,
  code: (block) => html`<pre tabindex="0"><code>${block.text}</code></pre>`,
  quote: (block, top) => html`<blockquote>${all(block.blocks, top)}</blockquote>`,
  rule: () => html`<hr />`,
  bulleted: (block, top) => html`<ul>${block.items.map((each) => item(each, top))}</ul>`,
  ordered: (block, top) => html`<ol start=${block.start}>${block.items.map((each) => item(each, top))}</ol>`,
  table,
};

function all(blocks, top) {
  return blocks.map((block) => BLOCKS[block.is](block, top));
}

// top: the level of the text's first heading in the page. titled: the heading that it begins with stands elsewhere.
export function Markdown({ text, top = 2, titled = false }) {
  const blocks = markdownBlocks(text);
  const shown = titled && blocks[0]?.is === "heading" ? blocks.slice(1) : blocks;
  return html`<div class="markdown">${all(shown, top)}</div>`;
}
