// The configuration as text, in step with the form: what is typed is tried, and kept once it has no fault.

import { ask, editInSlot, live } from "../../api.js";
import { Editor, placed } from "../../components/editor.js";
import { soon } from "../../store.js";
import { html, useEffect, useRef, useState } from "../../ui.js";

const PAUSE = 300;
const NAMES = { provider: "Name of an algorithm provider", policy: "Policy", config: "KubeSchedulerConfiguration" };

// What a person types, until the form that is shown has it: {text, problems: null before it was tried, version: of the
// scene that has it, null before it is kept}. A form of an older scene says nothing about it.
function useDraft(side, form, hold) {
  const [draft, setDraft] = useState(null);
  const newest = useRef(null);
  const waits = useRef(null);
  const counts = draft !== null && !(draft.version !== null && form.version >= draft.version);
  const tried = async (text) => {
    waits.current = null;
    const learn = (more) => newest.current === text && setDraft({ text, problems: [], version: null, ...more });
    const found = await ask("tuneText", { side: side.id, text }, { slot: "text" }).catch((fault) => fault);
    if (!found || newest.current !== text) return;
    if (found.problems?.length) return void learn({ problems: found.problems.map(placed) });
    hold();
    const change = { do: "configure", side: side.id, kind: form.writes ?? form.kind, text };
    const answer = await editInSlot(change, { slot: "configure", join: `text ${side.id}` });
    if (answer) learn({ version: answer.version });
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
  // What was typed last is tried also by one who leaves at once.
  useEffect(
    () => () => {
      waits.current?.callOff();
      if (waits.current) tried(waits.current.text);
    },
    [],
  );
  const { text, problems } = counts ? draft : { text: form.text, problems: (form.problems ?? []).map(placed) };
  return { text, problems, type, drop, kept: !counts };
}

export function ConfigurationText({ side, form, hold }) {
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
