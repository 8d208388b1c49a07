/**
 * A text of Markdown as a list of blocks: headings, paragraphs, lists, quotes, code, tables, rules.
 * It reads what tasks are written in, not all of CommonMark; what it does not know is a paragraph.
 */

import { inlineParts } from "./inline.js";

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

function table(lines, at) {
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
  if (line.includes("|") && TABLE_LINE.test(lines[at + 1] ?? "")) return table;
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
export function markdownBlocks(text) {
  return blocksOf(text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n"));
}
