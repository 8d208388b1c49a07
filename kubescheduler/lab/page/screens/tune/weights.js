// A slider and a number for each weight, with the exact weights at which another node wins.

import { editInSlot, live } from "../../api.js";
import { Swatch } from "../../components/shades.js";
import { side } from "../../store.js";
import { html, humps, useId, useRef, useState, useWhenNew } from "../../ui.js";
import { RuleBox } from "./rule_box.js";

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
