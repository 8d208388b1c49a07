// What would make the pod fit, or go to a node: each a change that was tried by deciding, with a button that makes it.

import { edit, live, useAnswer } from "../api.js";
import { Choice } from "../components/controls.js";
import { Answered, Empty } from "../components/states.js";
import { asked, focusedNode, side, state } from "../store.js";
import { html, useEffect, useId, useSheet, useState, useWhenNew } from "../ui.js";

// Hints by size: what changes, where the pod then goes, and Apply.

const NOUNS = { pod: "the pod", cluster: "the cluster", node: "a node", "running pods": "running pods", configuration: "the configuration" };

function Changes({ hint }) {
  const changes = hint.changes.length > 1 ? hint.changes : [];
  return html`
    <p class="what">${hint.text}</p>
    ${changes.length
      ? html`<ul class="changes">
          ${changes.map(
            (each) => html`<li>
              <span class="chip">${NOUNS[each.target]}</span> ${each.text}
            </li>`,
          )}
        </ul>`
      : null}
  `;
}

function Hint({ hint }) {
  const [applying, setApplying] = useState(false);
  const apply = async () => {
    setApplying(true);
    await edit(hint.edit);
    setApplying(false);
  };
  return html`<li class="hint panel">
    <span class="place" aria-label=${`Hint ${hint.rank}`}>${hint.rank}</span>
    <div class="changed"><${Changes} hint=${hint} /></div>
    <p class="goes">
      ${hint.changes.length === 1 ? html`<span class="chip">${NOUNS[hint.changes[0].target]}</span> ` : null}
      <span class="sign fits" aria-hidden="true">✓</span> then goes to <b>${hint.host}</b>
      ${hint.alike?.length ? html` <small class="quiet">alike: ${hint.alike.join(", ")}</small>` : null}
      ${hint.victims?.length ? html` <small class="refused">evicts ${hint.victims.join(", ")}</small>` : null}
    </p>
    <button
      type="button"
      class="primary"
      disabled=${applying || !live()}
      aria-label=${`Apply hint ${hint.rank}: ${hint.text}`}
      onClick=${apply}
    >
      Apply
    </button>
  </li>`;
}

// Why there may be more hints than these: what would have taken too long, and decisions that ended in an error.
function Unsearched({ answer }) {
  return html`${answer.leftOut && html`<p class="quiet">${answer.leftOut}</p>`}
    ${answer.errors.map((text) => html`<p class="refused"><span aria-hidden="true">✗</span> ${text}</p>`)}`;
}

function HintList({ answer, more, top }) {
  if (!answer.hints.length) {
    return html`<${Empty} title=${answer.reached ? "Nothing has to change" : "No hint"}>
      <p>${answer.text}</p>
      ${answer.searched?.length && !answer.reached ? html`<p>Searched: ${answer.searched.join(", ")}.</p>` : null}
      <${Unsearched} answer=${answer} />
    </${Empty}>`;
  }
  return html`
    <p class="quiet" role="status">
      ${answer.hints.length} ${answer.hints.length === 1 ? "way" : "ways"}, the smallest change first. Each was made in a copy of the
      cluster and the pod decided again.
    </p>
    <${Unsearched} answer=${answer} />
    <ol class="hint-list">
      ${answer.hints.map((hint) => html`<${Hint} key=${hint.text} hint=${hint} />`)}
    </ol>
    ${answer.hints.length >= top ? html`<p><button type="button" onClick=${more}>Show more</button></p>` : null}
    ${answer.searched?.length
      ? html`<details><summary>What was searched</summary><p class="quiet">${answer.searched.join(", ")}</p></details>`
      : null}
  `;
}

// A field for the name of a node, with the names that the cluster has for what is typed.

const OFFERED = 40;

function NodeField({ node, choose }) {
  const [text, setText] = useState(node ?? "");
  const list = useId();
  const found = useAnswer("cluster", { side: side.value?.id, from: 0, to: OFFERED, find: text }, { slot: "nodes" });
  const names = (found.answer?.nodes ?? []).map((each) => each.name);
  useWhenNew(node, () => setText(node ?? ""));
  useEffect(() => {
    if (text !== node && names.includes(text)) choose(text);
  }, [text, names.join(" ")]);
  return html`<label class="node-field">
    <span class="unseen">Node</span>
    <input
      type="search"
      list=${list}
      value=${text}
      placeholder="name of a node"
      autocomplete="off"
      spellcheck=${false}
      onInput=${(event) => setText(event.target.value)}
      onChange=${(event) => choose(event.target.value.trim())}
    />
    <datalist id=${list}>${names.map((name) => html`<option value=${name} />`)}</datalist>
  </label>`;
}

useSheet("style/hints.css");

const TOP = 10;
const GOALS = [
  [true, "Fits anywhere"],
  [false, "On a node"],
];

function Goal({ node, setNode, pairs, setPairs }) {
  const anywhere = node === null;
  return html`<form class="toolbar" onSubmit=${(event) => event.preventDefault()} aria-label="What is wanted">
    <${Choice} name="goal" label="Where the pod is wanted" value=${anywhere} choices=${GOALS} onChange=${(any) => setNode(any ? null : (focusedNode.value ?? ""))} />
    ${anywhere ? null : html`<${NodeField} node=${node} choose=${setNode} />`}
    <label class="check"><input type="checkbox" checked=${pairs} onChange=${(event) => setPairs(event.target.checked)} /> two changes at a time</label>
  </form>`;
}

export default function Hints() {
  const id = side.value?.id;
  const pod = asked.value?.key ?? null;
  const [node, setNode] = useState(null);
  const [pairs, setPairs] = useState(true);
  const [top, setTop] = useState(TOP);
  useWhenNew(`${pod} ${id} ${node}`, () => setTop(TOP));
  const wanted = { side: id, top, pairs, ...(node ? { node } : {}) };
  const known = useAnswer("hints", wanted, { when: Boolean(id && pod && node !== "") });
  if (!pod) {
    return html`<${Empty} title="No pod is asked about">
      <p>
        ${state.value?.pendingTotal
          ? "Choose one of the pending pods; what would make it fit stands here."
          : "Every pod has a node. Add a pod that does not fit, or ask what would bring one to another node."}
      </p>
    </${Empty}>`;
  }
  return html`<div class="hints">
    <h2>What would make <b class="name">${pod}</b> ${node ? html`go to <b>${node}</b>` : "fit"}?</h2>
    <${Goal} node=${node} setNode=${setNode} pairs=${pairs} setPairs=${setPairs} />
    ${node === ""
      ? html`<p class="quiet">Name the node that the pod is to go to.</p>`
      : html`<${Answered} known=${known} text="Searching, each change tried by deciding anew">
          ${(answer) => html`<${HintList} answer=${answer} more=${() => setTop(top + TOP)} top=${top} />`}
        </${Answered}>`}
  </div>`;
}
