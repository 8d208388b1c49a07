// The configuration as a form and as text, and what it makes of the ranking.

import { useAnswer } from "../api.js";
import { SaveChart } from "../components/save_chart.js";
import { Answered, Empty } from "../components/states.js";
import { asked, side } from "../store.js";
import { html, useRef, useState, useSheet, useWhenNew } from "../ui.js";
import { ArgumentForms } from "./tune/argument_forms.js";
import { ConfigurationText } from "./tune/configuration_text.js";
import { Ranking, rankingChart } from "./tune/ranking.js";
import { RuleToggles } from "./tune/rule_toggles.js";
import { Weights } from "./tune/weights.js";

export const title = "Tune";

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
