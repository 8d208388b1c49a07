
"use strict";
// The time line: filters, legend, rows that are made when they are shown, and the steps that are opened.
(() => {
  const NARROW = matchMedia("(max-width: 44rem)").matches;
  const PAGE = NARROW ? 30 : 200;
  const LETTERS = NARROW ? 1 : 2;
  const MOST_ALIKE = 10, MOST_NAMES = 10;
  const {element, parts} = Detail;
  const {counted, heads, legend, looks, row} = Bands;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const FILTERS = ["search", "show", "change", "grouping"];
  const FIRST = data.workloads.some((each) => each.moved) ? "moved" : "all";
  const state = {limit: PAGE, open: null, look: null, typing: false};
  const texts = data.workloads.map((each) => `${each.namespace} ${each.name}`.toLowerCase());
  let shown = [];

  // --- what is shown ---

  function matches() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const show = byId("show").value, change = byId("change").value;
    return data.workloads.map((_, at) => at).filter((at) => {
      const each = data.workloads[at];
      return (show === "all" || (show === "back" ? each.back : each.moved))
        && (!change || each.moves.some((move) => move[4].includes(Number(change))))
        && words.every((word) => texts[at].includes(word));
    });
  }

  function drawRows(from = 0) {
    const made = shown.slice(from, state.limit).map((at) => row(data.workloads[at], at, state.look, data, LETTERS));
    if (from) byId("rows").append(...made);
    else byId("rows").replaceChildren(...made);
    const left = shown.length - Math.min(state.limit, shown.length);
    byId("more").hidden = !left;
    byId("more").textContent = `Show ${Math.min(PAGE, left)} more of ${left}`;
    byId("count").textContent = counted(shown.length, "workload", "workloads") + (left ? `, the first ${state.limit} shown` : "");
    if (state.open && !byId("step")) reveal(state.open);
  }

  function update() {
    state.limit = PAGE;
    shown = matches();
    drawRows();
    for (const button of document.querySelectorAll("button[data-change]")) {
      button.setAttribute("aria-pressed", String(button.dataset.change === byId("change").value));
    }
  }

  function colour() {
    state.look = looks(data, data.groupings[Number(byId("grouping").value)]);
    byId("legend").replaceChildren(...legend(state.look));
  }

  // --- an opened step ---

  const buttonOf = ({workload, at}) => document.querySelector(`tr[data-workload="${workload}"] button[data-at="${at}"]`);

  function reveal(open) {
    const button = buttonOf(open);
    if (!button) return;
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-controls", "step");
    button.closest("tr").after(detailOf(open));
  }

  function close() {
    byId("step")?.remove();
    const button = state.open && buttonOf(state.open);
    button?.setAttribute("aria-expanded", "false");
    button?.removeAttribute("aria-controls");
    state.open = null;
  }

  function toggle(button) {
    const open = {workload: Number(button.closest("tr").dataset.workload), at: Number(button.dataset.at)};
    const again = state.open?.workload === open.workload && state.open.at === open.at;
    close();
    if (!again) reveal(state.open = open);
    save();
  }

  function detailOf({workload, at}) {
    const each = data.workloads[workload], moves = each.moves.filter((move) => move[0] === at);
    const pods = moves.reduce((sum, move) => sum + move[5].length, 0);
    const step = `${data.releases[at - 1]} → ${data.releases[at]}`;
    const made = moves.slice(0, MOST_ALIKE).map((move, number) => alike(move, number === 0));
    const left = moves.length - made.length;
    return element("tr", {role: "row", class: "detail", id: "step"}, element("td", {role: "cell", "aria-colspan": data.releases.length + 1},
      element("h3", {}, `${step}: ${pods} of ${counted(each.pods, "pod", "pods")} of ${each.name} ${pods === 1 ? "moves" : "move"}`),
      ...made,
      left ? element("p", {class: "hint"}, `and ${counted(left, "more kind of move", "more kinds of moves")}; -o json has all of them`) : null));
  }

  // Pods that are decided alike before and after the step. What is inside is made when it is opened.
  function alike([at, oldNumber, newNumber, change, named, names], open) {
    const [old, now] = [data.outcomes[oldNumber], data.outcomes[newNumber]];
    const way = `${old.host ?? "no node"} → ${now.host ?? "no node"}`;
    const made = element("details", {class: "alike"}, element("summary", {}, element("b", {}, way),
      ` · ${counted(names.length, "pod", "pods")} · ${named.map((one) => data.records[one].name).join(", ") || data.changes[change].cause}`));
    const fill = () => {
      if (made.childElementCount > 1) return;
      const pair = {old: data.releases[at - 1], now: data.releases[at], oldHost: old.host ?? null, newHost: now.host ?? null};
      const more = names.length - MOST_NAMES;
      made.append(
        element("p", {class: "hint"}, names.slice(0, MOST_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "")),
        ...explained(named, at),
        ...parts(old, now, data.changes[change], pair, data));
    };
    made.addEventListener("toggle", fill);
    if (open) fill();
    made.open = open;
    return made;
  }

  // The changes without any one of which the pods would stay; where there is none, those that may have a part.
  function explained(named, at) {
    if (named.length) return [element("h3", {}, named.length > 1 ? "The changes that move them" : "The change that moves them"), recorded(named.map((one) => data.records[one]))];
    const every = data.records.filter((one) => one.step === data.releases[at]);
    const said = element("p", {}, "No change alone moves them: several have a part, or what configures the scheduler.");
    if (!every.length) return [said];
    return [said, element("details", {}, element("summary", {}, `All changes from ${data.releases[at - 1]} to ${data.releases[at]}`), recorded(every))];
  }

  function recorded(records) {
    return element("ul", {class: "records"}, ...records.map(record));
  }

  function record(one) {
    const source = one.address ? element("a", {href: one.address, rel: "noreferrer"}, one.source) : one.source;
    return element("li", {},
      element("p", {}, element("b", {}, one.name), element("span", {class: "quiet"}, ` · ${one.release} · ${one.kind}`)),
      element("p", {}, one.text),
      source ? element("p", {class: "quiet"}, "Source: ", source) : null,
      one.witness ? witness(one) : null);
  }

  // A small example that both releases answer differently for this change alone; or why there is none.
  function witness({release, witness: {where, before, after, given, none}}) {
    if (none) return element("p", {class: "quiet"}, `No single decision shows it: ${none}`);
    const older = data.releases[data.releases.indexOf(release) - 1] ?? "before";
    const told = [["differs", where], [older, before], [release, after]].flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, text)]);
    return element("details", {class: "witness"}, element("summary", {}, "A small example"), element("dl", {}, ...told),
      element("pre", {tabindex: "0", role: "region", "aria-label": `Example of ${release}`}, given));
  }

  // --- the address ---

  function fields() {
    const chosen = Object.fromEntries(FILTERS.map((id) => [id, byId(id).value.trim() || null]));
    const change = chosen.change === null ? null : data.records[Number(chosen.change)];
    const {workload, at} = state.open ?? {};
    const opened = state.open && data.workloads[workload];
    return {
      ...chosen,
      show: chosen.show === FIRST ? null : chosen.show,
      change: change && `${change.release} ${change.name}`,
      grouping: chosen.grouping === "0" ? null : data.groupings[Number(chosen.grouping)].name,
      step: opened ? `${data.releases[at]} ${opened.namespace} ${opened.name}` : null,
    };
  }

  function save(push = true) {
    Address.write(fields(), push);
  }

  const index = (list, found) => { const at = list.findIndex(found); return at < 0 ? null : String(at); };

  function restore() {
    const said = Address.read();
    close();
    byId("search").value = said.get("search") ?? "";
    byId("show").value = ["moved", "back", "all"].includes(said.get("show")) ? said.get("show") : FIRST;
    byId("change").value = index(data.records, (one) => one.pods && `${one.release} ${one.name}` === said.get("change")) ?? "";
    byId("grouping").value = index(data.groupings, (one) => one.name === said.get("grouping")) ?? "0";
    const [release, namespace, name] = (said.get("step") ?? "").split(" ");
    const workload = index(data.workloads, (one) => one.namespace === namespace && one.name === name);
    const at = data.releases.indexOf(release);
    if (workload && data.workloads[Number(workload)].moves.some((move) => move[0] === at)) state.open = {workload: Number(workload), at};
    colour();
    update();
  }

  // --- what the reader does ---

  // From step to step by the arrow keys: along a workload's line, and to the nearest step of the next line that has one.
  function arrow(event) {
    const button = event.target.closest("td.step > button");
    if (!button || !["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key)) return;
    const steps = (line) => [...line.querySelectorAll(":scope > td.step > button")];
    const onward = ["ArrowRight", "ArrowDown"].includes(event.key);
    let next = null;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const here = steps(button.closest("tr"));
      next = here[here.indexOf(button) + (onward ? 1 : -1)];
    } else {
      let line = button.closest("tr");
      do line = onward ? line.nextElementSibling : line.previousElementSibling; while (line && !steps(line).length);
      const away = (one) => Math.abs(Number(one.dataset.at) - Number(button.dataset.at));
      next = line && steps(line).sort((one, other) => away(one) - away(other))[0];
    }
    event.preventDefault();
    next?.focus();
  }

  function picked(button) {
    byId("change").value = button.getAttribute("aria-pressed") === "true" ? "" : button.dataset.change;
    if (byId("change").value) byId("line").scrollIntoView();
    update();
    save();
  }

  function printed(everything) {
    state.limit = everything ? shown.length : PAGE;
    drawRows();
  }

  byId("filters").addEventListener("input", (event) => {
    const searching = event.target.id === "search";
    if (event.target.id === "grouping") colour();
    update();
    save(!(searching && state.typing));
    state.typing = searching;
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("rows").addEventListener("click", (event) => {
    const button = event.target.closest("td.step > button");
    if (button) toggle(button);
  });
  byId("rows").addEventListener("keydown", arrow);
  byId("more").addEventListener("click", () => {
    const from = state.limit;
    state.limit += PAGE;
    drawRows(from);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-change]");
    if (button) picked(button);
  });
  window.addEventListener("popstate", () => Address.has(fields()) || restore());
  window.addEventListener("beforeprint", () => printed(true));
  window.addEventListener("afterprint", () => printed(false));

  byId("grouping").append(...data.groupings.map((one, at) => new Option(one.name, at)));
  byId("change").append(new Option("any change", ""), ...data.records.flatMap((one, at) =>
    one.pods ? [new Option(`${one.release} ${one.name} (${one.pods})`, at)] : []));
  byId("bands").style.setProperty("--releases", data.releases.length);
  byId("heads").append(...heads(data));
  byId("unscripted").hidden = true;
  byId("filters").hidden = byId("bands").hidden = false;
  restore();
})();
