// The arguments of rules as fields, by the schema that the scene gives.

import { editInSlot, live } from "../../api.js";
import { Markdown } from "../../markdown/markdown.js";
import { side } from "../../store.js";
import { html, useRef, useState, useWhenNew } from "../../ui.js";

const NUMBERS = new Set(["int", "number"]);

// A field's value as the text of its control.
function shown(field) {
  if (field.value === null || field.value === undefined) return "";
  return field.type === "list" || field.type === "object" ? JSON.stringify(field.value, null, 2) : String(field.value);
}

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
    return html`<textarea ...${shared} ...${typed} rows="4" spellcheck="false"></textarea>`;
  }
  return html`<input ...${shared} ...${typed} type=${NUMBERS.has(field.type) ? "number" : "text"} step="any" />`;
}

function Field({ rule, field }) {
  const [text, setText] = useState(shown(field));
  const [problem, setProblem] = useState(null);
  const typing = useRef(false);
  // An answer to what was said before is not written over what is being typed.
  useWhenNew(JSON.stringify(field.value), () => typing.current || setText(shown(field)));
  const type = (next) => {
    typing.current = true;
    setText(next);
  };
  const set = (next) => {
    typing.current = false;
    setText(next);
    try {
      const value = read(field, next);
      setProblem(null);
      editInSlot({ do: "args", side: side.value.id, rule, args: { [field.path]: value } }, { slot: `args ${rule} ${field.path}` }).then(
        (answer) => answer === null && !typing.current && setText(shown(field)),
      );
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

export function ArgumentForms({ rules }) {
  const said = rules.filter((rule) => rule.schema.length);
  if (!said.length) return null;
  return html`<div class="arguments">
    ${said.map(
      (rule) => html`<details key=${rule.rule}>
        <summary>${rule.rule} <span class="quiet">arguments</span></summary>
        ${rule.text ? html`<div class="quiet"><${Markdown} text=${rule.text} top=${4} /></div>` : null}
        <div class="form">${rule.schema.map((field) => html`<${Field} key=${field.path} rule=${rule.rule} field=${field} />`)}</div>
      </details>`,
    )}
  </div>`;
}
