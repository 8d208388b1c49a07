// One decision: its steps in order, and what each of them said.

import { Find } from "../components/controls.js";
import { usePages } from "../components/pages.js";
import { Empty, Faults, Loading } from "../components/states.js";
import { asked, focusedNode, moment, side } from "../store.js";
import { html, useSheet, useEffect, useState } from "../ui.js";
import { EvidencePane, Moment, Outcome, StepPanel, Steps } from "../why/steps.js";

useSheet("style/why.css");

export default function Why() {
  if (!asked.value) {
    return html`<${Empty} title="No pod is asked about">
      <p>Choose one of the pending pods, or add one on the screen Cluster.</p>
    </${Empty}>`;
  }
  const then = moment.value;
  return html`<${Moment} then=${then} /><${Decision} key=${`${asked.value.key} ${then ? `@ ${then.attempt}` : side.value.id}`} />`;
}

function Decision() {
  const [find, setFind] = useState(focusedNode.value ?? "");
  const [all, setAll] = useState(false);
  const [range, setRange] = useState({ from: 0, to: 40 });
  const [step, setStep] = useState(null);
  const [chosen, choose] = useState(null);
  const pages = usePages("decision", { side: side.value.id, order: "rank", find, all }, range);
  useEffect(() => {
    focusedNode.value = null;
  }, []);
  if (pages.problems) return html`<${Faults} problems=${pages.problems} />`;
  if (!pages.head) return html`<${Loading} text="Asking for the decision" />`;
  const current = pages.head.steps.find((each) => each.id === step) ?? deciding(pages.head);
  const go = (id) => {
    setStep(id);
    choose(null);
  };
  const finder = html`<${Find} find=${find} onFind=${setFind} label="Find nodes by name" />`;
  return html`
    <${Outcome} found=${pages.head} />
    <${Steps} steps=${pages.head.steps} current=${current} onStep=${go} />
    <div class=${chosen ? "split open" : "split"}>
      <${StepPanel}
        step=${current}
        pages=${pages}
        all=${all}
        onAll=${setAll}
        finder=${finder}
        find=${find}
        chosen=${chosen}
        onChoose=${choose}
        onRange=${setRange}
      />
      ${chosen && html`<${EvidencePane} chosen=${chosen} found=${pages.head} onClose=${() => choose(null)} />`}
    </div>
  `;
}

// The step to begin with: where the attempt ended, else where the node was chosen.
function deciding({ steps }) {
  return steps.find((each) => each.state === "stopped") ?? steps.find((each) => each.id === "select") ?? steps[0];
}
