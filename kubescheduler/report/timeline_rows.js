
"use strict";
// The lines of the time line: what a workload's pods are on by each release, as bands that end where that changes.
const Bands = (() => {
  const {element, drawn} = Detail;
  const FEW = 8;
  const NOWHERE = -1;
  const LETTERS = "ABCDEFGH";

  const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

  // Group → {letter, kind, name}: those of most pods have a colour and a letter of their own, the others share one.
  function looks(data, grouping) {
    const use = new Map();
    for (const workload of data.workloads) {
      let cell = [];
      for (const each of workload.cells) {
        cell = each || cell;
        for (const [host, pods] of cell) if (host !== NOWHERE) use.set(grouping.of[host], (use.get(grouping.of[host]) || 0) + pods);
      }
    }
    const order = [...use.keys()].sort((one, other) => use.get(other) - use.get(one) || one - other);
    const own = order.length > FEW ? order.slice(0, FEW) : order;
    const found = new Map(own.map((group, at) => [group, {letter: LETTERS[at], kind: `group-${at}`, name: grouping.groups[group]}]));
    const rest = {letter: "+", kind: "rest", name: counted(order.length - own.length, "other group", "other groups")};
    for (const group of order.slice(own.length)) found.set(group, rest);
    const none = {letter: "–", kind: "none", name: "no node"};
    return {of: (host) => (host === NOWHERE ? none : found.get(grouping.of[host])), all: [...new Set([...found.values()]), none]};
  }

  // [[look, pods], …] of a cell, most pods first.
  function shares(cell, look) {
    const sums = new Map();
    for (const [host, pods] of cell) sums.set(look.of(host), (sums.get(look.of(host)) || 0) + pods);
    return [...sums].sort((one, other) => other[1] - one[1]);
  }

  function strip(parts) {
    const total = parts.reduce((sum, [, pods]) => sum + pods, 0);
    const picture = drawn("svg", {class: "strip", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true"});
    let left = 0;
    for (const [look, pods] of parts) {
      const width = (100 * pods) / total;
      picture.append(drawn("rect", {class: look.kind, x: left, width, height: 10}));
      left += width;
    }
    return picture;
  }

  // The bands of a workload: {from, to, parts, pods} with to after the last release; pods that move at its beginning.
  function bands(workload, look) {
    const moved = new Map();
    for (const [at, , , , , names] of workload.moves) moved.set(at, (moved.get(at) || 0) + names.length);
    const found = [];
    let cell = [];
    workload.cells.forEach((each, at) => {
      cell = each || cell;
      const parts = shares(cell, look), told = JSON.stringify(parts.map(([one, pods]) => [one.letter, pods]));
      const last = found.at(-1);
      if (last && !moved.has(at) && last.told === told) last.to = at + 1;
      else found.push({from: at, to: at + 1, parts, told, pods: moved.get(at) || 0});
    });
    return found;
  }

  const listed = (parts) => parts.map(([look, pods]) => `${look.name} ${pods}`).join(", ");

  function cellOf(workload, band, data, letters) {
    const {from, to, parts, pods} = band;
    const names = data.releases, span = to - from;
    const when = span > 1 ? `${names[from]} to ${names[to - 1]}` : names[from];
    const text = pods
      ? `${counted(pods, "pod moves", "pods move")} at ${names[from]}; then, ${when}: ${listed(parts)}`
      : `${when}: ${listed(parts)}`;
    const inside = [strip(parts), element("b", {"aria-hidden": "true"}, parts.slice(0, span * letters).map(([look]) => look.letter).join(" "))];
    const made = pods
      ? element("button", {type: "button", "aria-label": text, title: text, "aria-expanded": "false", "data-at": from}, ...inside)
      : element("div", {title: text}, ...inside, element("span", {class: "unseen"}, text));
    const cell = element("td", {role: "cell", "aria-colspan": span, colspan: span, class: `band${pods ? " step" : from ? " drawn" : ""}`}, made);
    cell.style.gridColumn = `span ${span}`;
    return cell;
  }

  function row(workload, at, look, data, letters) {
    const told = [counted(workload.pods, "pod", "pods")];
    if (workload.moved) told.push(counted(workload.moved, "moves", "move"));
    if (workload.back) told.push(counted(workload.back, "comes back", "come back"));
    const head = element("th", {role: "rowheader", scope: "row"}, workload.name,
      element("small", {}, [workload.namespace, told.join(", ")].filter(Boolean).join(" · ")));
    const cells = bands(workload, look).map((band) => cellOf(workload, band, data, letters));
    return element("tr", {role: "row", "data-workload": at}, head, ...cells);
  }

  function heads(data) {
    const sums = data.releases.map(() => 0);
    for (const workload of data.workloads) for (const [at, , , , , names] of workload.moves) sums[at] += names.length;
    const named = data.releases.map((name) => element("th", {role: "columnheader", scope: "col"}, name));
    const summed = sums.map((sum) => element("td", {role: "cell"}, sum ? sum.toLocaleString("en") : ""));
    return [
      element("tr", {role: "row"}, element("th", {role: "columnheader", scope: "col"}, "Workload"), ...named),
      element("tr", {role: "row"}, element("th", {role: "rowheader", scope: "row"}, "Pods that move"), ...summed),
    ];
  }

  function legend(look) {
    return look.all.map((each) => element("li", {}, strip([[each, 1]]), element("b", {}, each.letter), ` ${each.name}`));
  }

  return {counted, heads, legend, looks, row};
})();
