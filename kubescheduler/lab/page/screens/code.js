// The files with a person's own rules, as they are on disk, and what is wrong with them. They are edited elsewhere.

import { useAnswer } from "../api.js";
import { Answered, Empty } from "../components/states.js";
import { announce } from "../store.js";
import { html, useEffect, useRef, useState, useSheet } from "../ui.js";
import { SourceFile } from "./code/source_file.js";

export const title = "Code";

useSheet("style/code.css");

// The files of an answer, also of one that has the first only.
function filesOf(answer) {
  if (answer.files?.length) return answer.files;
  return answer.path ? [answer] : [];
}

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

function Files({ answer }) {
  const files = filesOf(answer);
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
      ? html`<fieldset class="segments">
          <legend class="unseen">File</legend>
          ${files.map(
            (each, at) =>
              html`<label><input type="radio" name="file" checked=${each === file} onChange=${() => choose(at)} /><span>${each.name}${each.problems.length ? " ✗" : ""}</span></label>`,
          )}
        </fieldset>`
      : null}
    <${SourceFile} key=${file.path} file=${file} />
  `;
}

export default function Code() {
  const known = useAnswer("code");
  return html`<div class="code"><${Answered} known=${known} text="Reading the file">${(answer) => html`<${Files} answer=${answer} />`}</${Answered}></div>`;
}
