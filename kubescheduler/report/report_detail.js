
"use strict";
// What an opened row shows: both outcomes, the terms of the difference, the steps from old to new, the reasons.
const Detail = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  // An element with attributes, and children that are elements or text; text is never read as HTML.
  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  function drawn(tag, attributes) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  // Numbers beyond 53 bits come as text.
  const plain = (value) => String(value).replace("-", "−");
  const signed = (value) => (Number(value) > 0 ? "+" : "") + plain(value);
  const some = ([count, names]) => names.join(", ") + (count > names.length ? ` and ${count - names.length} more` : "");

  // A bar from one value to another on an axis that reaches over all of them, with a mark at zero.
  function span(from, to, low, high) {
    const at = (value) => (100 * (value - low)) / (high - low || 1);
    const left = Math.min(at(from), at(to));
    const picture = drawn("svg", {class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true"});
    const width = Math.max(Math.abs(at(to) - at(from)), from === to ? 0 : 1);
    picture.append(
      drawn("rect", {class: to >= from ? "new" : "old", x: left, width, height: 10}),
      drawn("path", {class: "axis", d: `M${at(0)} 0V10`}),
    );
    return picture;
  }

  function outcome(found) {
    const parts = [element("b", {}, found.host || "no node")];
    if (found.error) parts.push(" · error");
    if (found.nodes !== undefined) parts.push(` · fits ${found.fits || 0} of ${found.nodes}`);
    if (found.total !== undefined) parts.push(` · total ${plain(found.total)}`);
    if (found.tied) parts.push(element("div", {}, `${found.tied[0]} nodes tied: ${some(found.tied)}`));
    if (found.evicts) parts.push(element("div", {}, `evicts ${some(found.evicts)} from ${found.evictsFrom || "a node"}`));
    if (found.message) parts.push(element("div", {}, found.message));
    return element("dd", {}, ...parts);
  }

  // value: null where one of the hosts was refused.
  const scored = (scores, weight, value) => value === null ? "not scored" :
    (scores && weight !== null ? `(${plain(scores[1])} − ${plain(scores[0])}) × ${plain(weight)} = ` : "") + signed(value);

  function cell(label, text, kind = "number") {
    return element("td", {role: "cell", "data-label": label, class: kind}, text);
  }

  // A column of bars has no name.
  function head(...names) {
    const heads = names.map((name) => name ? element("th", {scope: "col", role: "columnheader"}, name) : element("td", {role: "cell"}));
    return element("thead", {role: "rowgroup"}, element("tr", {role: "row"}, ...heads));
  }

  function table(label, kind, ...parts) {
    return element("table", {class: `cards ${kind}`, role: "table", "aria-label": label}, ...parts);
  }

  // How far the running sums of one side reach; zero is always in it.
  function reach(values) {
    let sum = 0;
    const sums = [0, ...values.map((value) => (sum += Number(value)))];
    return [Math.min(...sums), Math.max(...sums)];
  }

  const titled = (names) => [...new Set(names)].filter((name) => name !== null).join(" → ");

  // The difference of the totals under each scheduler, term by term; each bar begins where the last one ended.
  // Terms that add nothing under either are only named.
  function terms(change, pair, names) {
    const body = element("tbody", {role: "rowgroup"});
    const [oldReach, newReach] = [reach(change.terms.map((term) => term[1])), reach(change.terms.map((term) => term[2]))];
    let [oldSum, newSum] = [0, 0];
    const nothing = [];
    for (const [number, old, now, oldWeight, newWeight, oldScores, newScores] of change.terms) {
      const [oldName, newName] = names[number];
      const title = titled(names[number]);
      if (!Number(old) && !Number(now)) {
        nothing.push(title);
        continue;
      }
      const [oldEnd, newEnd] = [oldSum + Number(old), newSum + Number(now)];
      body.append(element("tr", {role: "row", "data-old": old, "data-new": now},
        element("th", {scope: "row", role: "rowheader"}, title),
        cell(pair.old, oldName === null ? "–" : scored(oldScores, oldWeight, old)),
        element("td", {role: "cell", class: "chart"}, span(oldSum, oldEnd, ...oldReach)),
        cell(pair.now, newName === null ? "–" : scored(newScores, newWeight, now)),
        element("td", {role: "cell", class: "chart"}, span(newSum, newEnd, ...newReach))));
      [oldSum, newSum] = [oldEnd, newEnd];
    }
    const [oldTotal, newTotal] = [change.old ?? null, change.new ?? null];
    const total = element("tr", {role: "row", "data-old": oldTotal, "data-new": newTotal},
      element("th", {scope: "row", role: "rowheader"}, "Difference of the totals"),
      cell(pair.old, scored(null, null, oldTotal)),
      element("td", {role: "cell", class: "chart"}, span(0, Number(oldTotal), ...oldReach)),
      cell(pair.now, scored(null, null, newTotal)),
      element("td", {role: "cell", class: "chart"}, span(0, Number(newTotal), ...newReach)));
    return [
      element("h3", {}, `Why ${pair.newHost} and not ${pair.oldHost}`),
      element("p", {class: "hint"}, `Score of ${pair.newHost} minus score of ${pair.oldHost}, times weight. `
        + "Above zero speaks for the new node, below for the old one."),
      table("Contributions", "terms", head("Priority", pair.old, "", pair.now, ""), body,
        element("tfoot", {role: "rowgroup"}, total)),
      nothing.length ? element("p", {class: "hint"}, `Equal on both nodes: ${nothing.join(", ")}.`) : null,
    ];
  }

  // From the old scoring to the new one, step by step; each bar begins where the last one ended.
  function steps(change) {
    const [[, , firstGain, firstLead]] = change.steps;
    const start = Number(firstLead) - Number(firstGain);
    const [low, high] = reach([start, ...change.steps.map(([, , gain]) => gain)]);
    const row = (step, names, gain, from, lead) => element("tr", {role: "row"},
      element("th", {scope: "row", role: "rowheader"}, step),
      cell("Of", names, ""),
      cell("Gain", gain),
      cell("Lead", signed(lead)),
      element("td", {role: "cell", class: "chart"}, span(from, Number(lead), low, high)));
    const rows = change.steps.map(([cause, names, gain, lead]) =>
      row(cause === change.cause ? `${cause}: the cause` : cause, names.join(", ") || "–", signed(gain), Number(lead) - Number(gain), lead));
    return [
      element("h3", {}, "From the old scoring to the new"),
      element("p", {class: "hint"}, "What the new node gains by each step, and how far it leads then; "
        + "below zero the old node leads. On the finer of the two scales."),
      table("Steps", "terms steps", head("Step", "Of", "Gain", "Lead", ""),
        element("tbody", {role: "rowgroup"}, row("old scoring", "–", "–", 0, start), ...rows)),
    ];
  }

  function reasons(change) {
    const items = Object.entries(change.reasons).map(([check, found]) =>
      element("li", {}, element("b", {}, check), `: ${found.join("; ")}`));
    return [element("h3", {}, "What the checks say"), element("ul", {}, ...items)];
  }

  // What the scores of both nodes were made of under both schedulers; closed at first.
  function evidence(change, pair, data) {
    const items = [];
    for (const [number, , , , , , , ...sides] of change.terms) {
      if (!sides.length) continue;
      const lines = sides.flatMap((side, at) => side.flatMap((texts) => texts.map((text, host) => {
        const [rule, ...rest] = data.texts[text].split(": ");
        const where = `${at ? pair.now : pair.old}, ${host ? pair.newHost : pair.oldHost}`;
        return element("div", {}, element("span", {class: "quiet"}, where), ` ${side.length > 1 ? `${rule}: ` : ""}${rest.join(": ")}`);
      })));
      items.push(element("dt", {}, titled(data.terms[number])), element("dd", {}, ...lines));
    }
    if (!items.length) return [];
    return [element("details", {class: "made"}, element("summary", {}, "What these scores were made of"), element("dl", {}, ...items))];
  }

  // The parts of an opened row. pair: the names of both columns and both hosts. data: the page's.
  function parts(old, now, change, pair, data) {
    return [
      change.text ? element("p", {}, change.text) : null,
      change.moves ? element("p", {class: "moves"}, `Goes elsewhere in ${change.moves[0]} of ${change.moves[1]} `
        + `${change.moves[1] === 1 ? "run" : "runs"} with ties drawn as the releases draw them.`) : null,
      element("dl", {}, ...(pair.runsOn ? [element("dt", {}, "runs on"), element("dd", {}, pair.runsOn)] : []),
        element("dt", {}, pair.old), outcome(old), element("dt", {}, pair.now), outcome(now)),
      ...(change.reasons ? reasons(change) : []),
      ...(change.terms ? terms(change, pair, data.terms) : []),
      ...(change.terms ? evidence(change, pair, data) : []),
      ...(change.steps ? steps(change) : []),
    ].filter((part) => part !== null);
  }

  return {drawn, element, parts, plain};
})();
