// A text of Markdown as elements. What the text says becomes text nodes; no markup of its own is taken.

import { html } from "../ui.js";

/**
 * The inside of a line of Markdown as a tree of parts: text, code, emphasis, links.
 * Nothing here makes markup: a part is {is, parts} or {is, text}, and only text becomes text nodes.
 */

const ESCAPABLE = /[\\`*_{}[\]()#+\-.!|<>]/;
const SAFE_ADDRESS = /^(https?:\/\/|mailto:|#)/i;

/** A code span that begins at `at`, as [part, end], or null where no run of as many backticks closes it. */
function codeSpan(text, at) {
  const run = /^`+/.exec(text.slice(at))[0];
  let from = at + run.length;
  for (;;) {
    const close = text.indexOf(run, from);
    if (close < 0) return null;
    const longer = /^`+/.exec(text.slice(close))[0].length;
    if (longer === run.length) {
      const inside = text.slice(at + run.length, close);
      const trimmed = /^ .* $/.test(inside) && inside.trim() ? inside.slice(1, -1) : inside;
      return [{ is: "code", text: trimmed }, close + run.length];
    }
    from = close + longer;
  }
}

/** A link that begins at `at`, as [part, end], or null. What does not lead to the web keeps its words only. */
function linked(text, at) {
  const found = /^\[((?:[^[\]\\]|\\.|`[^`]*`)*)\]\(\s*<?([^\s()<>]*)>?(?:\s+"[^"]*")?\s*\)/.exec(text.slice(at));
  if (!found) return null;
  const parts = inlineParts(found[1]);
  const end = at + found[0].length;
  return [SAFE_ADDRESS.test(found[2]) ? { is: "link", address: found[2], parts } : { is: "span", parts }, end];
}

/** An address between angle brackets, as [part, end], or null. */
function bareAddress(text, at) {
  const found = /^<(https?:\/\/[^\s<>]+)>/i.exec(text.slice(at));
  return found && [{ is: "link", address: found[1], parts: [{ is: "text", text: found[1] }] }, at + found[0].length];
}

/** Emphasis that begins at `at`, as [part, end], or null. */
function emphasised(text, at) {
  const mark = text[at];
  const strong = text[at + 1] === mark;
  const sign = strong ? mark + mark : mark;
  const start = at + sign.length;
  if (/\s/.test(text[start] ?? " ")) return null;
  if (mark === "_" && /\w/.test(text[at - 1] ?? "")) return null;
  for (let close = start + 1; close < text.length; close += 1) {
    if (text[close] === "`") {
      const span = codeSpan(text, close);
      if (span) { close = span[1] - 1; continue; }
    }
    if (!text.startsWith(sign, close) || /\s/.test(text[close - 1])) continue;
    if (mark === "_" && /\w/.test(text[close + sign.length] ?? "")) continue;
    if (!strong && text[close + 1] === mark) { close += 1; continue; }
    return [{ is: strong ? "strong" : "emphasis", parts: inlineParts(text.slice(start, close)) }, close + sign.length];
  }
  return null;
}

const STARTS = { "`": codeSpan, "[": linked, "<": bareAddress, "*": emphasised, _: emphasised };

/** The parts of a line or of several joined by line ends. */
function inlineParts(text) {
  const parts = [];
  let plain = "";
  let at = 0;
  while (at < text.length) {
    if (text[at] === "\\" && ESCAPABLE.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
      continue;
    }
    const found = STARTS[text[at]]?.(text, at);
    if (!found) {
      plain += text[at];
      at += 1;
      continue;
    }
    if (plain) parts.push({ is: "text", text: plain });
    plain = "";
    parts.push(found[0]);
    at = found[1];
  }
  if (plain) parts.push({ is: "text", text: plain });
  return parts;
}

/**
 * A text of Markdown as a list of blocks: headings, paragraphs, lists, quotes, code, tables, rules.
 * It reads what tasks are written in, not all of CommonMark; what it does not know is a paragraph.
 */


const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const FENCE = /^(`{3,}|~{3,})\s*([\w+-]*)/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s{0,3})([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
const TABLE_LINE = /^\s*\|?(\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/;

/** The cells of a table's line; a pipe in code or after a backslash separates nothing. */
function cells(line) {
  const inside = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  const found = inside.match(/(?:\\.|`[^`]*`|[^|\\`]|`)+|(?<=\|)(?=\|)/g) ?? [];
  return found.map((cell) => inlineParts(cell.trim()));
}

function fence(lines, at) {
  const [, sign, language] = FENCE.exec(lines[at]);
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(sign)) end += 1;
  return [{ is: "code", language, text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function tableAt(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  return [{ is: "table", head: cells(lines[at]), rows: lines.slice(at + 2, end).map(cells) }, end];
}

function quote(lines, at) {
  let end = at;
  while (end < lines.length && /^\s{0,3}>/.test(lines[end])) end += 1;
  const inside = lines.slice(at, end).map((line) => line.replace(/^\s{0,3}> ?/, ""));
  return [{ is: "quote", blocks: blocksOf(inside) }, end];
}

/** The lines of one item, without their indentation, and where the next one begins. */
function itemLines(lines, at) {
  const [, before, sign, gap, first] = ITEM.exec(lines[at]);
  const width = before.length + sign.length + Math.min(gap.length, 4);
  const inside = [first];
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    const indented = line.slice(0, width).trim() === "";
    if (line.trim() === "") {
      if ((lines[end + 1] ?? "").slice(0, width).trim() !== "") break;
    } else if (!indented && (ITEM.test(line) || lines[end - 1].trim() === "" || HEADING.test(line))) break;
    inside.push(indented ? line.slice(width) : line.trim());
  }
  return [inside, end];
}

function list(lines, at) {
  const ordered = /\d/.test(ITEM.exec(lines[at])[2]);
  const start = ordered ? parseInt(ITEM.exec(lines[at])[2], 10) : 1;
  const items = [];
  let end = at;
  while (end < lines.length) {
    let next = end;
    while (next < lines.length && lines[next].trim() === "") next += 1;
    const item = ITEM.exec(lines[next] ?? "");
    if (!item || /\d/.test(item[2]) !== ordered || RULE.test(lines[next])) break;
    const [inside, after] = itemLines(lines, next);
    items.push(blocksOf(inside));
    end = after;
  }
  return [{ is: ordered ? "ordered" : "bulleted", start, items }, end];
}

function begins(lines, at) {
  const line = lines[at];
  if (FENCE.test(line.trim())) return fence;
  if (HEADING.test(line)) return (all, from) => {
    const [, sign, text] = HEADING.exec(all[from]);
    return [{ is: "heading", level: sign.length, parts: inlineParts(text) }, from + 1];
  };
  if (RULE.test(line)) return (all, from) => [{ is: "rule" }, from + 1];
  if (/^\s{0,3}>/.test(line)) return quote;
  if (ITEM.test(line)) return list;
  if (line.includes("|") && TABLE_LINE.test(lines[at + 1] ?? "")) return tableAt;
  return null;
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() !== "" && !begins(lines, end)) end += 1;
  return [{ is: "paragraph", parts: inlineParts(lines.slice(at, end).map((line) => line.trim()).join("\n")) }, end];
}

function blocksOf(lines) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const [block, end] = (begins(lines, at) ?? paragraph)(lines, at);
    blocks.push(block);
    at = end;
  }
  return blocks;
}

/** The blocks of a text; lines may end in any way. */
function markdownBlocks(text) {
  return blocksOf(text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n"));
}

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
