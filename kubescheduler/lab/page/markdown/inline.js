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
export function inlineParts(text) {
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
