
"use strict";
// The table of pods: filters, order, and rows that are made when they are shown.
(() => {
  // On a narrow screen a row is a card: fewer of them at once, and what is folded is closed at first.
  const NARROW = matchMedia("(max-width: 44rem)").matches;
  const PAGE = NARROW ? 20 : 200;
  const MOVED = "moved", ALL = "all", SAME = "same", NONE = "none";
  const {element, parts, plain} = Detail;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const collator = new Intl.Collator("en", {numeric: true});
  const COLUMNS = {pod: "Pod", cause: "Cause", oldNode: "", newNode: "", oldTotal: "", newTotal: ""};
  const NUMBERS = ["oldTotal", "newTotal"];
  const PICKED = ["workload", "namespace", "oldNode", "newNode"];
  const FIRST = {sort: "pod", descending: false};
  const LONG = 24;

  const state = {column: 0, ...FIRST, limit: PAGE, open: new Set(), typing: false, clearing: false};
  let rows = [];
  let shown = [];

  const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;
  const key = (value) => (value === null ? NONE : `=${value}`);

  function rowOf(pod, at) {
    const old = pod.outcomes[0], now = pod.outcomes[state.column + 1], change = pod.changes[state.column];
    const slash = pod.pod.indexOf("/");
    const texts = [pod.pod, pod.workload, old.host, now.host, change.cause, change.text, old.message, now.message];
    return {
      at, old, now, change, pod: pod.pod, runsOn: pod.runsOn, cause: change.cause,
      namespace: slash < 0 ? null : pod.pod.slice(0, slash),
      workload: pod.workload ? `${pod.pod.slice(0, Math.max(slash, 0))}/${pod.workload}` : null,
      oldNode: old.host ?? null, newNode: now.host ?? null, oldTotal: old.total ?? null, newTotal: now.total ?? null,
      text: texts.filter(Boolean).join("\n").toLowerCase(),
    };
  }

  function names() {
    const old = data.names[0], now = data.names[state.column + 1];
    return {...COLUMNS, oldNode: `Node, ${old}`, newNode: `Node, ${now}`, oldTotal: `Total, ${old}`, newTotal: `Total, ${now}`};
  }

  // --- filters and order ---

  function matches() {
    const cause = byId("cause").value;
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const picked = PICKED.map((name) => [name, byId(name).value]).filter(([, value]) => value);
    return rows.filter((row) =>
      (cause === ALL || (cause === MOVED ? row.cause !== SAME : row.cause === cause))
      && picked.every(([name, value]) => key(row[name]) === value)
      && words.every((word) => row.text.includes(word)));
  }

  // What is not there comes last in both orders.
  function compared(one, other) {
    const [a, b] = [one[state.sort], other[state.sort]];
    if (a === null || b === null) return (a === null) - (b === null) || one.at - other.at;
    const order = NUMBERS.includes(state.sort) ? Number(a) - Number(b) : collator.compare(a, b);
    return (state.descending ? -order : order) || one.at - other.at;
  }

  function fill(id, any, values) {
    const options = values.map((value) => new Option(value === null ? "(none)" : value, key(value)));
    byId(id).replaceChildren(new Option(any, ""), ...options);
  }

  function distinct(name) {
    const values = new Set(rows.map((row) => row[name]));
    const none = values.delete(null);
    return [...[...values].sort(collator.compare), ...(none ? [null] : [])];
  }

  function fillCauses() {
    const counts = new Map();
    for (const row of rows) counts.set(row.cause, (counts.get(row.cause) || 0) + 1);
    const moved = rows.length - (counts.get(SAME) || 0);
    const causes = [...counts].sort((a, b) => b[1] - a[1]).map(([cause, count]) => new Option(`${cause} (${count})`, cause));
    byId("cause").replaceChildren(
      new Option(`all that differ (${moved})`, MOVED), new Option(`all pods (${rows.length})`, ALL), ...causes);
    byId("cause").options[moved ? 0 : 1].defaultSelected = byId("cause").options[moved ? 0 : 1].selected = true;
  }

  // --- drawing ---

  function drawHeads() {
    const titles = names();
    byId("heads").replaceChildren(...Object.entries(titles).map(([name, title]) => {
      const button = element("button", {type: "button"}, title);
      button.addEventListener("click", () => order(name, state.sort === name && !state.descending));
      const kind = [NUMBERS.includes(name) ? "total" : "", title.split(/\s/).some((word) => word.length > LONG) ? "long" : ""];
      return element("th", {scope: "col", role: "columnheader", "data-sort": name, class: kind.join(" ").trim() || null}, button);
    }));
    byId("order").replaceChildren(...Object.entries(titles).flatMap(([name, title]) => [
      new Option(`${title} ↑`, `${name} up`), new Option(`${title} ↓`, `${name} down`)]));
  }

  function markOrder() {
    for (const head of byId("heads").children) {
      const here = head.dataset.sort === state.sort;
      head.setAttribute("aria-sort", here ? (state.descending ? "descending" : "ascending") : "none");
    }
    byId("order").value = `${state.sort} ${state.descending ? "down" : "up"}`;
  }

  function drawRow(row) {
    const titles = names(), open = state.open.has(row.at);
    const opener = element("button", {type: "button", class: "opens", "aria-expanded": String(open), "aria-controls": `detail-${row.at}`}, row.pod);
    opener.addEventListener("click", () => toggle(row, opener));
    const cell = (name, text, kind) => element("td", {role: "cell", "data-label": titles[name], class: kind}, text);
    const node = (name) => cell(name, row[name] ?? element("span", {class: "quiet"}, "no node"), "");
    const total = (name) => cell(name, row[name] === null ? "–" : plain(row[name]), "number total");
    const line = element("tr", {role: "row", "data-pod": row.pod},
      element("th", {scope: "row", role: "rowheader"}, opener),
      cell("cause", element("span", {title: data.meanings[row.cause]}, row.cause), "cause"),
      node("oldNode"), node("newNode"), total("oldTotal"), total("newTotal"));
    return open ? [line, detailOf(row)] : [line];
  }

  function detailOf(row) {
    const pair = {old: data.names[0], now: data.names[state.column + 1], oldHost: row.oldNode, newHost: row.newNode, runsOn: row.runsOn};
    const found = parts(row.old, row.now, row.change, pair, data);
    return element("tr", {role: "row", class: "detail", id: `detail-${row.at}`},
      element("td", {role: "cell", colspan: Object.keys(COLUMNS).length}, ...found));
  }

  function toggle(row, opener) {
    const open = !state.open.delete(row.at);
    if (open) {
      state.open.add(row.at);
      opener.closest("tr").after(detailOf(row));
    } else {
      byId(`detail-${row.at}`).remove();
    }
    opener.setAttribute("aria-expanded", String(open));
  }

  function drawRows(from = 0) {
    const made = shown.slice(from, state.limit).flatMap(drawRow);
    if (from) byId("rows").append(...made);
    else byId("rows").replaceChildren(...made);
    const left = shown.length - Math.min(state.limit, shown.length);
    byId("more").hidden = !left;
    byId("more").textContent = `Show ${Math.min(PAGE, left)} more of ${left}`;
    byId("count").textContent = counted(shown.length, "pod", "pods")
      + (left ? `, the first ${state.limit} shown` : "") + (shown.length ? "" : "; clear the filters to see others");
  }

  function update() {
    state.limit = PAGE;
    shown = matches().sort(compared);
    drawRows();
    for (const name of ["cause", "workload"]) {
      for (const button of document.querySelectorAll(`button[data-${name}]`)) {
        button.setAttribute("aria-pressed", String(valueOf(button, name) === byId(name).value));
      }
    }
  }

  // What the filter has when a button of the page picks it.
  function valueOf(button, name) {
    return name === "cause" ? button.dataset.cause : key(button.dataset.workload || null);
  }

  // --- the address ---

  const initial = (select) => [...select.options].find((option) => option.defaultSelected) ?? select.options[0];

  function fields() {
    const search = byId("search").value.trim(), cause = byId("cause");
    const picked = PICKED.map((name) => [name, byId(name).value]).map(([name, value]) =>
      [name, value === "" ? null : value === NONE ? "" : value.slice(1)]);
    const ordered = state.sort !== FIRST.sort || state.descending !== FIRST.descending;
    return {
      column: state.column ? String(state.column) : null,
      cause: cause.value === initial(cause).value ? null : cause.value,
      search: search || null,
      ...Object.fromEntries(picked),
      order: ordered ? byId("order").value : null,
    };
  }

  function save(push = true) {
    Address.write(fields(), push);
  }

  function clear() {
    state.clearing = true;
    byId("filters").reset();
    state.clearing = false;
  }

  // What the page has no such choice for stays as it is at first.
  function choice(id, value) {
    if ([...byId(id).options].some((option) => option.value === value)) byId(id).value = value;
  }

  function restore() {
    const found = Address.read();
    const column = Number(found.get("column") ?? 0), chooser = document.querySelectorAll("#chooser input");
    if (chooser[column]) chooser[column].checked = true;
    clear();
    choose(chooser[column] ? column : 0);
    choice("cause", found.get("cause"));
    byId("search").value = found.get("search") ?? "";
    for (const name of PICKED) if (found.has(name)) choice(name, key(found.get(name) || null));
    [state.sort, state.descending] = [FIRST.sort, FIRST.descending];
    markOrder();
    choice("order", found.get("order"));
    reorder();
  }

  // --- what the reader does ---

  function order(name, descending) {
    [state.sort, state.descending] = [name, descending];
    markOrder();
    update();
  }

  function reorder() {
    const [name, way] = byId("order").value.split(" ");
    order(name, way === "down");
  }

  function choose(column) {
    state.column = column;
    state.open.clear();
    rows = data.pods.map(rowOf);
    for (const part of document.querySelectorAll("[data-column]")) part.hidden = Number(part.dataset.column) !== column;
    fillCauses();
    fill("workload", "any", distinct("workload"));
    byId("workload").parentElement.hidden = rows.every((row) => row.workload === null);
    fill("namespace", "any", distinct("namespace"));
    fill("oldNode", "any", distinct("oldNode"));
    fill("newNode", "any", distinct("newNode"));
    drawHeads();
    markOrder();
    update();
  }

  function pressed(event) {
    const button = event.target.closest("button[data-cause], button[data-workload]");
    if (!button) return;
    const again = button.getAttribute("aria-pressed") === "true";
    const name = "cause" in button.dataset ? "cause" : "workload";
    clear();
    if (!again) {
      byId(name).value = valueOf(button, name);
      byId("pods").scrollIntoView();
    }
    markOrder();
    update();
    save();
  }

  // The choices stay in the address when the reader goes to a part of the page.
  function jumped(event) {
    const link = event.target.closest("nav a");
    if (!link || !location.hash.includes("=")) return;
    event.preventDefault();
    document.querySelector(link.hash).scrollIntoView();
  }

  function typed(event) {
    if (event.target.id === "order") return;
    const searching = event.target.id === "search";
    update();
    save(!(searching && state.typing));
    state.typing = searching;
  }

  // On paper everything is there: all rows, and what is closed.
  function printed(everything) {
    for (const part of document.querySelectorAll("details")) {
      if (everything) part.dataset.open = String(part.open);
      part.open = everything || part.dataset.open === "true";
    }
    state.limit = everything ? shown.length : PAGE;
    drawRows();
  }

  byId("filters").addEventListener("input", typed);
  byId("search").addEventListener("change", () => { state.typing = false; });
  byId("filters").addEventListener("reset", (event) => {
    if (!state.clearing) setTimeout(() => { markOrder(); update(); save(); });
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("order").addEventListener("change", () => { reorder(); save(); });
  byId("heads").addEventListener("click", () => save());
  byId("more").addEventListener("click", () => {
    const from = state.limit;
    state.limit += PAGE;
    drawRows(from);
  });
  document.addEventListener("click", pressed);
  document.addEventListener("click", jumped);
  byId("chooser")?.addEventListener("change", (event) => {
    choose(Number(event.target.value));
    save();
  });
  window.addEventListener("popstate", () => Address.has(fields()) || restore());
  window.addEventListener("beforeprint", () => printed(true));
  window.addEventListener("afterprint", () => printed(false));

  for (const part of document.querySelectorAll("details.fold")) part.open = !NARROW;
  byId("unscripted").hidden = true;
  byId("filters").hidden = byId("table").hidden = false;
  restore();
  if (Address.read().size && performance.getEntriesByType("navigation")[0]?.type === "navigate") {
    byId("pods").scrollIntoView({behavior: "instant"});
  }
})();
