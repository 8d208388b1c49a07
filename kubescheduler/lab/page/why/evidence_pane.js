// Beside the matrix: the evidence of the cell that was chosen, or of the whole node.

import { useAnswer } from "../api.js";
import { Facts, Refusal, RuleLinks } from "../components/evidence.js";
import { Formula } from "../components/formula.js";
import { IconButton } from "../components/icons.js";
import { Answered } from "../components/states.js";
import { announce, side } from "../store.js";
import { html, useEffect, useLayoutEffect, useRef } from "../ui.js";

// chosen: {node, kind: "check" | "rule", id | null}
export function EvidencePane({ chosen, onClose }) {
  const { node, kind, id } = chosen;
  const narrowed = id ? { [kind]: id } : {};
  const known = useAnswer("why", { side: side.value.id, node, ...narrowed }, { slot: "why" });
  const from = useRef(null);
  useLayoutEffect(() => {
    from.current = document.activeElement;
  }, [node, id]);
  const close = () => {
    onClose();
    from.current?.focus?.();
  };
  const keys = (event) => event.key === "Escape" && close();
  return html`<aside class=${id ? "evidence-pane one" : "evidence-pane"} aria-label="Evidence" onKeyDown=${keys}>
    <header>
      <h3>${id ?? node}<small class="quiet">${id ? ` on ${node}` : ""}</small></h3>
      <${IconButton} name="close" label="Close the evidence" onClick=${close} />
    </header>
    <${Answered} known=${known} text="Asking for the evidence">
      ${(answer) => html`<${Said} answer=${answer} kind=${kind} id=${id} />`}
    </${Answered}>
  </aside>`;
}

function Said({ answer, kind, id }) {
  const checks = kind === "check" || !id ? answer.refusals : [];
  const refusing = checks.filter((each) => each.refuses !== false);
  const passing = checks.filter((each) => each.refuses === false);
  const scores = kind === "rule" || !id ? answer.scores : [];
  const text = refusing.length ? refusing.map((each) => each.reason).join("; ") : scores.length === 1 ? `${scores[0].product}` : "passes";
  useEffect(() => announce(`${id ?? answer.node}: ${text}`), [answer]);
  return html`
    ${refusing.map((each) => html`<${Refusal} refusal=${each} />`)}
    ${kind === "check" && !refusing.length && html`<p class="fits">✓ ${id ? `${id} does not refuse ${answer.node}.` : `${answer.node} fits.`}</p>`}
    ${passing.map((each) => html`<${Passing} check=${each} />`)}
    ${scores.map((each) => html`<${Formula} score=${each} />`)}
    ${kind === "rule" && !scores.length && html`<p class="quiet">There is no score for this node.</p>`}
  `;
}

function Passing({ check }) {
  return html`<article class="evidence">
    ${check.text && html`<p>${check.text}</p>`}
    <${Facts} facts=${check.facts} caption=${`What ${check.rule} looked at`} />
    <${RuleLinks} rule=${check.rule} upstream=${check.upstream} />
  </article>`;
}
