// Fields of toolbars: a search, one of a few.

import { soon } from "../store.js";
import { html, useEffect, useRef } from "../ui.js";
import { Icon } from "./icons.js";

const PAUSE = 150;

// A field to search in; what is typed counts after a short pause.
export function Find({ find, onFind, label, ...rest }) {
  const callOff = useRef(null);
  useEffect(() => () => callOff.current?.(), []);
  const typed = (event) => {
    const text = event.target.value.trim();
    callOff.current?.();
    callOff.current = soon(() => onFind(text), PAUSE);
  };
  return html`<label class="find">
    <${Icon} name="search" />
    <input type="search" aria-label=${label} placeholder=${label} defaultValue=${find} onInput=${typed} ...${rest} />
  </label>`;
}

// One of a few, side by side. choices: [[value, text]]
export function Choice({ name, label, value, choices, onChange }) {
  return html`<fieldset class="segments">
    <legend class="unseen">${label}</legend>
    ${choices.map(
      ([each, text]) => html`<label key=${each}>
        <input type="radio" name=${name} checked=${value === each} onChange=${() => onChange(each)} /><span>${text}</span>
      </label>`,
    )}
  </fieldset>`;
}
