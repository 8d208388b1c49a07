// The files with a person's own rules, as they are on disk, and what is wrong with them. They are edited elsewhere.

import { useAnswer } from "../api.js";
import { Choice } from "../components/controls.js";
import { Answered, Empty } from "../components/states.js";
import { announce, moment, screen } from "../store.js";
import { html, useEffect, useRef, useSheet, useState } from "../ui.js";

// One file: its lines with numbers, each fault under the line that it is in, with the node and the pod.

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
  const meanwhile = file.decidesOn ? "; the rules that were there before decide on" : "; nothing is decided until it is mended";
  return html`<div class="code-head toolbar">
    <p>
      <code>${file.path}</code>
      <span class="quiet"> read at ${clock(file.at)}; it is read anew when it is saved</span>
    </p>
    <p class="push" role="status">
      ${count
        ? html`<span class="refused"><span aria-hidden="true">✗</span> ${count} ${count === 1 ? "fault" : "faults"}${file.loaded ? "" : meanwhile}</span>
            <button type="button" class="plain" onClick=${go}>To the first</button>`
        : html`<span class="fits"><span aria-hidden="true">✓</span> loaded, no fault</span>
            <button type="button" class="plain" onClick=${() => ((moment.value = null), (screen.value = "why"))}>See it decide</button>`}
    </p>
  </div>`;
}

function SourceFile({ file }) {
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

useSheet("style/code.css");

// Says when a file was read anew, and whether it is sound.
function useNews(files) {
  const before = useRef(null);
  useEffect(() => {
    const now = files.map((file) => `${file.at} ${file.problems.length}`).join();
    if (before.current !== null && before.current !== now) {
      const faults = files.reduce((count, file) => count + file.problems.length, 0);
      announce(faults ? `The code was read anew: ${faults} ${faults === 1 ? "fault" : "faults"}` : "The code was read anew", faults > 0);
    }
    before.current = now;
  }, [files]);
}

const named = (file, at) => [at, `${file.name}${file.problems.length ? " ✗" : ""}`];

function Files({ answer }) {
  const { files } = answer;
  const [chosen, choose] = useState(0);
  useNews(files);
  if (!files.length) {
    return html`<${Empty} title="No code of your own">
      <p>Give the lab a file when it is started, and it stands here; it is read anew each time it is saved.</p>
      <p><code>kubescheduler lab cluster.yaml --plugin my_rules:register</code></p>
    </${Empty}>`;
  }
  const file = files[Math.min(chosen, files.length - 1)];
  return html`
    ${files.length > 1
      ? html`<${Choice} name="file" label="File" value=${files.indexOf(file)} choices=${files.map(named)} onChange=${choose} />`
      : null}
    <${SourceFile} key=${file.path} file=${file} />
  `;
}

export default function Code() {
  const known = useAnswer("code");
  return html`<div class="code"><${Answered} known=${known} text="Reading the file">${(answer) => html`<${Files} answer=${answer} />`}</${Answered}></div>`;
}
