// A slider and a number for each weight, with the exact weights at which another node wins.

import { editInSlot, live } from "../../api.js";
import { RuleKey, Stack, Swatch } from "../../components/shades.js";
import { drawnOf } from "../../components/tables.js";
import { side } from "../../store.js";
import { html, humps, useEffect, useId, useLayoutEffect, useRef, useState, useWhenNew } from "../../ui.js";
import { goesTo } from "../../why/stages.js";

// [whether the box is ticked, what to do when it is clicked]. A drawing in between must not turn it back.
function useTicked(row, point, hold) {
  const [wanted, want] = useState(null);
  const underWay = useRef(0);
  useEffect(() => {
    if (!underWay.current) want(null);
  }, [row]);
  const change = async (event) => {
    const on = event.target.checked;
    hold();
    want(on);
    underWay.current += 1;
    const edit = { do: "toggle", side: side.value.id, rule: row.id, point, on };
    const answer = await editInSlot(edit, { slot: `toggle ${row.id} ${point}` });
    underWay.current -= 1;
    if (answer === null) want(null);
  };
  return [wanted ?? row.on, change];
}

// row: of the form. point: the extension point that is meant, undefined for all. more: other attributes.
export function RuleBox({ row, point, hold, ...more }) {
  const [ticked, change] = useTicked(row, point, hold);
  const disabled = !live() || Boolean(row.fixed);
  return html`<input type="checkbox" checked=${ticked} disabled=${disabled} onChange=${change} ...${more} />`;
}

const LEAST_RANGE = 10;

// The end of the slider: round, beyond the weight and what changes the winner; it never shrinks under the hand.
function reach(rule, thresholds) {
  const beyond = thresholds.map((each) => each.from).filter((each) => each !== null && each <= 1000);
  const wanted = Math.max(LEAST_RANGE, 2 * (rule.weight ?? 1), ...beyond.map((each) => each + 2));
  const step = 10 ** Math.floor(Math.log10(wanted));
  return Math.min(rule.max ?? Infinity, Math.ceil(wanted / step) * step);
}

// The weight that reaches a threshold with the smallest step from the present one.
function nearest(threshold, weight) {
  if (threshold.from !== null && weight < threshold.from) return threshold.from;
  if (threshold.to !== null && weight > threshold.to) return threshold.to;
  return weight;
}

function Ticks({ thresholds, min, max }) {
  const places = [...new Set(thresholds.map((each) => each.from).filter((each) => each > min && each <= max))];
  const span = max - min || 1;
  return html`<svg class="ticks" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false">
    ${places.map((at) => {
      const x = (100 * (at - min)) / span;
      return html`<line x1=${x} x2=${x} y1="0" y2="6" vector-effect="non-scaling-stroke" />`;
    })}
  </svg>`;
}

function Thresholds({ rule, thresholds, choose }) {
  const told = thresholds.filter((each) => each.from !== null && !(each.wins && thresholds.length === 1));
  if (!told.length) return null;
  return html`<ul class="thresholds">
    ${told.map((each) => {
      const to = nearest(each, rule.weight);
      return html`<li key=${each.node}>
        ${to === rule.weight
          ? html`<span class="here"><span class="sign" aria-hidden="true">✓</span> ${each.text}</span>`
          : html`<button type="button" class="plain" disabled=${!live()} onClick=${() => choose(to)} title=${`Set the weight to ${to}`}>
              ${each.text}
            </button>`}
      </li>`;
    })}
  </ul>`;
}

function Weight({ rule, thresholds, hold }) {
  const [value, setValue] = useState(rule.weight);
  const dragged = useRef(false);
  const range = useRef(0);
  const grip = useRef(0);
  const sent = useRef(rule.weight);
  const id = useId();
  const max = (range.current = dragged.current ? Math.max(range.current, rule.weight ?? 1) : reach(rule, thresholds));
  useWhenNew(rule.weight, () => {
    if (dragged.current) return;
    setValue(rule.weight);
    sent.current = rule.weight;
  });
  const set = (next) => {
    const weight = Math.round(next);
    setValue(Number.isFinite(weight) ? weight : "");
    if (!Number.isFinite(weight)) return;
    if (weight < (rule.min ?? 1) || weight === sent.current) return;
    sent.current = weight;
    const wanted = { do: "weights", side: side.value.id, weights: { [rule.id]: weight } };
    const join = `weight ${side.value.id} ${rule.id} ${grip.current}`;
    editInSlot(wanted, { slot: `weight ${rule.id}`, join }).then((answer) => {
      if (answer !== null) return;
      sent.current = rule.weight;
      setValue(rule.weight);
    });
  };
  const take = () => {
    if (dragged.current) return;
    hold();
    grip.current = performance.now();
    dragged.current = true;
  };
  const release = () => {
    dragged.current = false;
    if (!(value >= (rule.min ?? 1))) setValue(rule.weight);
  };
  const disabled = !live() || Boolean(rule.fixed) || rule.weight === null;
  const own = { min: rule.min ?? 1, disabled, value, onFocus: take, onBlur: release };
  return html`<li class="weight" data-off=${rule.on ? null : ""}>
    <${WeightToggle} rule=${rule} hold=${hold} />
    <span class="rule-name">
      ${rule.on ? html`<${Swatch} rule=${rule.plugin ?? rule.id} aria-hidden="true" />` : null}<label for=${id} title=${rule.text}>${humps(rule.title)}</label>
    </span>
    <span class="slide">
      <input
        type="range"
        id=${id}
        ...${own}
        max=${max}
        step="1"
        onPointerDown=${take}
        onPointerUp=${release}
        onInput=${(event) => set(event.target.valueAsNumber)}
      />
      <${Ticks} thresholds=${thresholds} min=${rule.min ?? 1} max=${max} />
    </span>
    <input
      type="number"
      class="number"
      aria-label=${`Weight of ${rule.title}`}
      ...${own}
      max=${rule.max}
      onInput=${(event) => set(event.target.valueAsNumber)}
    />
    <${Thresholds} rule=${rule} thresholds=${thresholds} choose=${(to) => (hold(), set(to))} />
  </li>`;
}

function WeightToggle({ rule, hold }) {
  return html`<${RuleBox}
    row=${rule}
    point=${rule.points?.length ? "score" : undefined}
    hold=${hold}
    aria-label=${`${rule.title} scores`}
    title=${rule.fixed || (rule.on ? "Scores; clear it to leave it out" : "Does not score")}
  />`;
}

// thresholds: of all rules, as the verb gives them. hold(): a control is taken; the ranking shown now becomes the old one.
export function Weights({ rules, thresholds, hold }) {
  if (!rules.length) return html`<p class="quiet">Nothing scores: the first node that fits is taken.</p>`;
  const of = (rule) => thresholds.filter((each) => each.rule === (rule.plugin ?? rule.id));
  return html`<fieldset class="weights">
    <legend><h2>Weights</h2></legend>
    <ul>
      ${rules.map((rule) => html`<${Weight} key=${rule.id} rule=${rule} thresholds=${of(rule)} hold=${hold} />`)}
    </ul>
  </fieldset>`;
}

// The nodes by total. A row that moves says where it was, and slides from there.

const QUICK = { duration: 220, easing: "ease-out" };

// Lets each row slide from where it stood before this drawing.
function useSlide(list, rows) {
  const before = useRef(new Map());
  useLayoutEffect(() => {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const now = new Map();
    for (const row of list.current.children) {
      const top = row.offsetTop;
      now.set(row.dataset.node, top);
      const moved = (before.current.get(row.dataset.node) ?? top) - top;
      if (moved && !still) row.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], QUICK);
    }
    before.current = now;
  }, [rows]);
}

// The rules in the order in which they were first seen, so that a shade keeps its meaning while weights change.
function useSteadyOrder(rules) {
  const seen = useRef(new Map());
  rules.forEach((rule) => seen.current.has(rule.id) || seen.current.set(rule.id, seen.current.size));
  return [...rules].sort((a, b) => seen.current.get(a.id) - seen.current.get(b.id));
}

function Moved({ row, was, known }) {
  if (was === row.rank) return null;
  if (was === undefined) return known ? html`<span class="moved up" title="Was further down">▲</span>` : null;
  const up = row.rank < was;
  return html`<span class=${up ? "moved up" : "moved down"}>
    <span aria-hidden="true">${up ? "▲" : "▼"}</span> was ${was}
  </span>`;
}

function Row({ row, rules, scale, baseline }) {
  const parts = rules.map((rule) => ({ id: rule.id, title: rule.title, value: row.scores[rule.id]?.product ?? 0 }));
  return html`<li data-node=${row.name} class=${row.chosen ? "ranked chosen" : "ranked"}>
    <span class="place">${row.rank}</span>
    <span class="ranked-node">
      <span class="name">${row.name}</span>
      ${row.chosen ? html`<span class="chip accent"><span aria-hidden="true">✓</span> chosen</span>` : null}
      <${Moved} row=${row} was=${baseline.get(row.name)} known=${baseline.size > 0} />
    </span>
    <span class="number total">${row.total}</span>
    <${Stack} parts=${parts} scale=${scale} label=${`${row.name}: ${parts.map((each) => `${each.title} ${each.value}`).join(", ")}`} />
  </li>`;
}

function rankedRows(decision) {
  return decision.nodes.filter((row) => row.fits && row.rank !== null).sort((a, b) => a.rank - b.rank);
}

function fullest(rows) {
  return Math.max(1, ...rows.map((row) => row.total ?? 0));
}

// The ranking as it is drawn in a file.
export function rankingChart(decision) {
  const rows = rankedRows(decision);
  const notes = [
    ...(decision.scored ? [] : [decision.scoredText]),
    ...drawnOf(rows.length, decision.fits, "nodes that fit"),
    ...(decision.total > decision.fits ? [`${decision.total - decision.fits} of ${decision.total} nodes refuse the pod.`] : []),
  ];
  return { name: "ranking", title: "Ranking", text: goesTo(decision), notes, rules: decision.rules, rows, scale: fullest(rows) };
}

// baseline: node → rank before the change.
export function Ranking({ decision, baseline, more }) {
  const list = useRef(null);
  const rows = rankedRows(decision);
  const rules = useSteadyOrder(decision.rules);
  const scale = fullest(rows);
  useSlide(list, decision);
  return html`
    <p class="verdict">
      ${decision.host
        ? html`<span class="sign fits" aria-hidden="true">✓</span> ${decision.pod} goes to <b>${decision.host}</b>`
        : html`<span class="sign refused" aria-hidden="true">✗</span> ${decision.message}`}
    </p>
    ${decision.scored ? null : html`<p class="quiet">${decision.scoredText}</p>`}
    <${RuleKey} rules=${rules} />
    <ol class="ranking" ref=${list}>
      ${rows.map((row) => html`<${Row} key=${row.name} row=${row} rules=${rules} scale=${scale} baseline=${baseline} />`)}
    </ol>
    ${decision.fits > rows.length
      ? html`<p><button type="button" onClick=${more}>${decision.fits - rows.length} more</button></p>`
      : null}
    ${decision.total > decision.fits
      ? html`<p class="quiet">${decision.total - decision.fits} of ${decision.total} nodes refuse the pod.</p>`
      : null}
  `;
}
