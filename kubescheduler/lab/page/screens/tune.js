// The configuration as a form and as text, and what it makes of the ranking.

import { ask, editInSlot, live, useAnswer } from "../api.js";
import { Editor, placed } from "../components/editor.js";
import { Markdown } from "../components/markdown.js";
import { Answered, Empty } from "../components/states.js";
import { SaveChart } from "../components/tables.js";
import { asked, side, soon } from "../store.js";
import { html, useLeaving, useRef, useSheet, useState, useWhenNew } from "../ui.js";
import { Ranking, rankingChart, RuleBox, Weights } from "./tune/weights.js";

// The arguments of rules as fields, by the schema that the scene gives.

const NUMBERS = new Set(["int", "number"]);

// A field's value as the text of its control.
function shown(field) {
  if (field.value === null || field.value === undefined) return "";
  return field.type === "list" || field.type === "object" ? JSON.stringify(field.value, null, 2) : String(field.value);
}

const NOT_KEPT = "not kept; it is tried again together with the next argument";

// The value that a control's text means; throws what is wrong with it.
function read(field, text) {
  if (text === "") return null;
  if (NUMBERS.has(field.type)) {
    const number = Number(text);
    if (!Number.isFinite(number)) throw new Error("not a number");
    return number;
  }
  if (field.type === "bool") return text === "true";
  if (field.type === "list" || field.type === "object") return JSON.parse(text);
  return text;
}

function Control({ field, text, type, set, faulty }) {
  const shared = { value: text, disabled: !live(), "aria-invalid": faulty ? "true" : undefined };
  if (field.type === "choice" || field.type === "bool") {
    const choices = field.type === "bool" ? ["true", "false"] : field.choices;
    return html`<select ...${shared} onChange=${(event) => set(event.target.value)}>
      ${field.value === null ? html`<option value="">not said</option>` : null}
      ${choices.map((each) => html`<option value=${each}>${each}</option>`)}
    </select>`;
  }
  const typed = { onInput: (event) => type(event.target.value), onChange: (event) => set(event.target.value) };
  if (field.type === "list" || field.type === "object") {
    return html`<textarea ...${shared} ...${typed} rows="4" spellcheck=${false}></textarea>`;
  }
  return html`<input ...${shared} ...${typed} type=${NUMBERS.has(field.type) ? "number" : "text"} step="any" />`;
}

// refused: path → value of what the scene refused of this rule's arguments. It stays in its field, and is tried again with
// the next: some values are taken only together, as a type of scoring strategy with its shape.
function Field({ rule, field, refused }) {
  const [text, setText] = useState(shown(field));
  const [problem, setProblem] = useState(null);
  const typing = useRef(false);
  // An answer to what was said before is not written over what is being typed.
  useWhenNew(JSON.stringify(field.value), () => typing.current || (setText(shown(field)), setProblem(null)));
  const type = (next) => {
    typing.current = true;
    setText(next);
  };
  const set = async (next) => {
    typing.current = false;
    setText(next);
    setProblem(null);
    const back = refused.delete(field.path);
    try {
      const value = read(field, next);
      if (back && JSON.stringify(value) === JSON.stringify(field.value)) return;
      const args = { ...Object.fromEntries(refused), [field.path]: value };
      const answer = await editInSlot({ do: "args", side: side.value.id, rule, args }, { slot: `args ${rule} ${field.path}` });
      if (answer) Object.keys(args).forEach((path) => refused.delete(path));
      if (answer !== null) return;
      refused.set(field.path, value);
      setProblem(NOT_KEPT);
    } catch (fault) {
      setProblem(fault.message);
    }
  };
  const usual = JSON.stringify(field.default);
  return html`<label class="field">
    <span>
      <code>${field.path}</code>
      ${JSON.stringify(field.value) === usual ? null : html` <small>default ${usual ?? "none"}</small>`}
    </span>
    <${Control} field=${field} text=${text} type=${type} set=${set} faulty=${problem} />
    ${problem ? html`<small class="refused"><span aria-hidden="true">✗</span> ${problem}</small>` : null}
  </label>`;
}

function ArgumentForm({ rule }) {
  const refused = useRef(new Map()).current;
  return html`<details>
    <summary>${rule.rule} <span class="quiet">arguments</span></summary>
    ${rule.text ? html`<div class="quiet"><${Markdown} text=${rule.text} top=${4} /></div>` : null}
    <div class="form">${rule.schema.map((field) => html`<${Field} key=${field.path} rule=${rule.rule} field=${field} refused=${refused} />`)}</div>
  </details>`;
}

function ArgumentForms({ rules }) {
  const said = rules.filter((rule) => rule.schema.length);
  if (!said.length) return null;
  return html`<div class="arguments">${said.map((rule) => html`<${ArgumentForm} key=${`${side.value.id} ${rule.rule}`} rule=${rule} />`)}</div>`;
}

// The configuration as text, in step with the form: what is typed is tried, and kept once it has no fault.

const PAUSE = 300;
const NAMES = { provider: "Name of an algorithm provider", policy: "Policy", config: "KubeSchedulerConfiguration" };

// What a person types, until the form that is shown has it: {text, problems: null before it was tried, version: of the
// scene that has it, null before it is kept}. A form of an older scene says nothing about it.
function useDraft(side, form, hold) {
  const [draft, setDraft] = useState(null);
  const newest = useRef(null);
  const waits = useRef(null);
  const counts = draft !== null && !(draft.version !== null && form.version >= draft.version);
  const learn = (text, more) => {
    if (newest.current !== text) return;
    waits.current = null;
    setDraft({ text, problems: [], version: null, ...more });
  };
  const keep = async (text) => {
    hold();
    const change = { do: "configure", side: side.id, kind: form.writes ?? form.kind, text };
    const answer = await editInSlot(change, { slot: "configure", join: `text ${side.id}` });
    if (answer) learn(text, { version: answer.version });
  };
  const tried = async (text) => {
    const found = await ask("tuneText", { side: side.id, text }, { slot: "text" }).catch((fault) => fault);
    if (!found || newest.current !== text) return;
    if (found.problems?.length) learn(text, { problems: found.problems.map(placed) });
    else await keep(text);
  };
  const type = (text) => {
    newest.current = text;
    setDraft((before) => ({ text, problems: before?.problems ?? [], version: null }));
    waits.current?.callOff();
    waits.current = { text, callOff: soon(() => tried(text), PAUSE) };
  };
  const drop = () => {
    waits.current?.callOff();
    newest.current = waits.current = null;
    setDraft(null);
  };
  // What was typed last counts also where one leaves at once, if it has no fault.
  useLeaving(() => {
    waits.current?.callOff();
    if (waits.current) keep(waits.current.text);
  });
  const { text, problems } = counts ? draft : { text: form.text, problems: (form.problems ?? []).map(placed) };
  return { text, problems, type, drop, kept: !counts };
}

function ConfigurationText({ side, form, hold }) {
  const { text, problems, type, drop, kept } = useDraft(side, form, hold);
  return html`
    <p class="toolbar">
      <span class="quiet">${NAMES[form.writes ?? form.kind]}, release ${form.release}</span>
      <span class="push" role="status">
        ${problems.length
          ? html`<span class="refused"><span aria-hidden="true">✗</span> not kept: ${problems.length === 1 ? "a fault" : `${problems.length} faults`}</span>`
          : html`<span class="quiet">${kept ? "in step with the form" : "trying …"}</span>`}
      </span>
      ${kept ? null : html`<button type="button" onClick=${drop}>Back to what counts</button>`}
    </p>
    <${Editor}
      label=${`${NAMES[form.writes ?? form.kind]} as text`}
      value=${text}
      onInput=${type}
      problems=${problems}
      readOnly=${!live()}
    />
    ${(side.notes ?? []).map((note) => html`<p class="quiet">${note}</p>`)}
  `;
}

// A box to tick for each check or plugin; what cannot be changed says why.

function Toggle({ row, hold }) {
  const point = row.points?.includes("filter") ? "filter" : undefined;
  return html`<li>
    <label title=${row.text}>
      <${RuleBox} row=${row} point=${point} hold=${hold} />
      <span>${row.title}${row.fixed ? html` <small class="quiet">${row.fixed}</small>` : null}</span>
    </label>
  </li>`;
}

// open: at first; a narrow window begins with the ranking near.
function RuleToggles({ title, rows, hold, open = false }) {
  if (!rows.length) return null;
  const on = rows.filter((row) => row.on).length;
  return html`<details class="toggles" open=${open}>
    <summary>${title} <span class="quiet">${on} of ${rows.length} on</span></summary>
    <ul>
      ${rows.map((row) => html`<${Toggle} key=${row.id} row=${row} hold=${hold} />`)}
    </ul>
  </details>`;
}

const PAGE = 30;
const ROOMY = matchMedia("(min-width: 60rem)").matches;

useSheet("style/tune.css");

// The ranking as it was when the person took hold of a control: node → rank.
function useBaseline(answer) {
  const held = useRef(null);
  const shown = useRef(null);
  shown.current = answer;
  const ranks = () => {
    const rows = shown.current?.nodes ?? [];
    return new Map(rows.filter((row) => row.rank !== null).map((row) => [row.name, row.rank]));
  };
  if (!held.current && answer) held.current = ranks();
  return [held.current ?? new Map(), () => (held.current = ranks())];
}

function Forms({ known, thresholds, hold }) {
  return html`<${Answered} known=${known} text="Reading the configuration">
    ${(form) => html`
      ${form.profiles?.length > 1 ? html`<p class="quiet">Profile <b>${form.profile}</b></p>` : null}
      <${Weights} rules=${form.rules} thresholds=${thresholds} hold=${hold} />
      <${RuleToggles} title="Checks" rows=${form.checks} hold=${hold} open=${ROOMY} />
      <${RuleToggles} title="Other plugins" rows=${form.others ?? []} hold=${hold} />
      <${ArgumentForms} rules=${form.args} />
    `}
  </${Answered}>`;
}

function AskFirst() {
  return html`<${Empty} title="No pod is asked about">
    <p>Choose a pending pod, and its ranking stands here and follows every change.</p>
  </${Empty}>`;
}

export default function Tune() {
  const id = side.value?.id;
  const pod = asked.value?.key ?? null;
  const [rows, setRows] = useState(PAGE);
  const form = useAnswer("tune", { side: id }, { slot: "form", when: Boolean(id) });
  const ranked = { side: id, from: 0, to: rows, order: "rank" };
  const decision = useAnswer("decision", ranked, { slot: "tune", when: Boolean(id && pod) });
  const thresholds = useAnswer("thresholds", { side: id }, { slot: "thresholds", when: Boolean(id && pod), later: 120 });
  const [baseline, hold] = useBaseline(decision.answer);
  useWhenNew(`${id} ${pod}`, () => setRows(PAGE));
  return html`<div class="tune">
    <section class="tune-forms" aria-label="Form">
      <${Forms} known=${form} thresholds=${thresholds.answer?.thresholds ?? []} hold=${hold} />
    </section>
    <section class="tune-ranking" aria-labelledby="ranking-title">
      <div class="toolbar">
        <h2 id="ranking-title">Ranking</h2>
        ${pod && decision.answer?.fits ? html`<${SaveChart} kind="totals" what="ranking" chart=${() => rankingChart(decision.answer)} />` : null}
      </div>
      ${pod
        ? html`<${Answered} known=${decision} text="Ranking the nodes">
            ${(answer) => html`<${Ranking} decision=${answer} baseline=${baseline} more=${() => setRows(rows + PAGE)} />`}
          </${Answered}>`
        : html`<${AskFirst} />`}
    </section>
    <section class="tune-text" aria-labelledby="text-title">
      <h2 id="text-title">Configuration</h2>
      ${form.answer ? html`<${ConfigurationText} side=${side.value} form=${form.answer} hold=${hold} key=${id} />` : null}
    </section>
  </div>`;
}
