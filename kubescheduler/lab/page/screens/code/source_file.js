// One file: its lines with numbers, each fault under the line that it is in, with the node and the pod.

import { moment, screen } from "../../store.js";
import { html, useRef } from "../../ui.js";

function clock(at) {
  const time = at ? new Date(at) : null;
  return time && !Number.isNaN(time.valueOf()) ? time.toLocaleTimeString() : "";
}

function Fault({ fault }) {
  const where = [fault.pod && `pod ${fault.pod}`, fault.node && `node ${fault.node}`].filter(Boolean).join(", ");
  return html`<span class="code-fault" role="note">
    <span class="sign" aria-hidden="true">✗</span> ${fault.text}${where ? html` <span class="where">${where}</span>` : null}
  </span>`;
}

function Line({ text, number, faults, column }) {
  return html`<li id=${`line-${number}`} tabindex=${faults.length ? -1 : undefined} class=${faults.length ? "faulty" : ""} value=${number}>
    <code>${text || " "}</code>
    ${faults.length && column ? html`<span class="caret" aria-hidden="true" style=${{ "--column": column - 1 }}>^</span>` : null}
    ${faults.map((fault) => html`<${Fault} fault=${fault} />`)}
  </li>`;
}

function Summary({ file, go }) {
  const count = file.problems.length;
  return html`<div class="code-head toolbar">
    <p>
      <code>${file.path}</code>
      <span class="quiet"> read at ${clock(file.at)}; it is read anew when it is saved</span>
    </p>
    <p class="push" role="status">
      ${count
        ? html`<span class="refused"><span aria-hidden="true">✗</span> ${count} ${count === 1 ? "fault" : "faults"}${file.loaded ? "" : "; the rules that were there before decide on"}</span>
            <button type="button" class="plain" onClick=${go}>To the first</button>`
        : html`<span class="fits"><span aria-hidden="true">✓</span> loaded, no fault</span>
            <button type="button" class="plain" onClick=${() => ((moment.value = null), (screen.value = "why"))}>See it decide</button>`}
    </p>
  </div>`;
}

export function SourceFile({ file }) {
  const place = useRef(null);
  const lines = file.text.replace(/\n$/, "").split("\n");
  const at = (number) => file.problems.filter((each) => (each.line ?? 0) === number);
  const elsewhere = file.problems.filter((each) => !each.line || each.line > lines.length);
  const first = file.problems.find((each) => each.line)?.line;
  const go = () => {
    const line = place.current.querySelector(`#line-${first ?? 1}`);
    line.scrollIntoView({ block: "center" });
    line.focus();
  };
  return html`<section aria-label=${file.name ?? file.path}>
    <${Summary} file=${file} go=${go} />
    ${elsewhere.map((fault) => html`<p class="panel"><${Fault} fault=${fault} /></p>`)}
    <div class="source" tabindex="0" role="group" aria-label="Text of the file" ref=${place}>
      <ol>
        ${lines.map((text, index) => {
          const faults = at(index + 1);
          return html`<${Line} key=${index} text=${text} number=${index + 1} faults=${faults} column=${faults[0]?.column} />`;
        })}
      </ol>
    </div>
  </section>`;
}
