// The configuration as text, in step with the form: what is typed is tried, and kept once it has no fault.

import { ask, editInSlot, live } from "../../api.js";
import { Editor } from "../../components/editor.js";
import { soon } from "../../store.js";
import { html, useEffect, useRef, useState } from "../../ui.js";

const PAUSE = 300;
const NAMES = { provider: "Name of an algorithm provider", policy: "Policy", config: "KubeSchedulerConfiguration" };

// The problems as {text, line?, column?}.
function records(problems) {
  return problems.map((each) => (typeof each === "string" ? { text: each } : each));
}

// [text shown, its problems, what a person types]. Text of the form comes in while nobody's typing is unkept.
function useDraft(side, form, hold) {
  const [draft, setDraft] = useState(form.text);
  const [problems, setProblems] = useState(records(form.problems ?? []));
  const unkept = useRef(false);
  const typed = useRef(0);
  const callOff = useRef(null);
  useEffect(() => {
    if (unkept.current) return;
    setDraft(form.text);
    setProblems(records(form.problems ?? []));
  }, [form.text, JSON.stringify(form.problems)]);
  useEffect(() => () => callOff.current?.(), []);
  const tried = async (text) => {
    const mine = typed.current;
    const found = await ask("tuneText", { side: side.id, text }, { slot: "text" }).catch((fault) => fault);
    if (!found) return;
    setProblems(records(found.problems ?? []));
    if (found.problems?.length) return;
    hold();
    await editInSlot({ do: "configure", side: side.id, kind: form.writes ?? form.kind, text }, { slot: "configure", join: `text ${side.id}` });
    if (typed.current === mine) unkept.current = false;
  };
  const type = (text) => {
    unkept.current = true;
    typed.current += 1;
    setDraft(text);
    callOff.current?.();
    callOff.current = soon(() => tried(text), PAUSE);
  };
  const drop = () => {
    callOff.current?.();
    unkept.current = false;
    setDraft(form.text);
    setProblems(records(form.problems ?? []));
  };
  return { draft, problems, type, drop, kept: draft === form.text };
}

export function ConfigurationText({ side, form, hold }) {
  const { draft, problems, type, drop, kept } = useDraft(side, form, hold);
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
      value=${draft}
      onInput=${type}
      problems=${problems}
      readOnly=${!live()}
    />
    ${(side.notes ?? []).map((note) => html`<p class="quiet">${note}</p>`)}
  `;
}
