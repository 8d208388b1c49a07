// The server has dropped this tab's scene: what happened, what is kept, and ways on.

import { open } from "../api.js";
import { again } from "../kept_scene.js";
import { tab, toast } from "../store.js";
import { html, useState } from "../ui.js";
import { Faults } from "./states.js";

const WHY = "It keeps so many scenes at once, and drops the one that was idle longest when there are more, or one that nobody used for hours.";

export function Dropped() {
  const [problems, setProblems] = useState([]);
  const { from, anew, text } = again(tab.value);
  const go = (source, said) =>
    open(source).then(
      () => toast(said),
      (fault) => setProblems(fault.problems ?? [String(fault)]),
    );
  const action = from && { text: "Open it again", run: () => go(from, `The scene is open again. ${text}`) };
  return html`<${Faults} title="The server no longer has this scene" problems=${[WHY, text, ...problems]} action=${action} />
    <p><button type="button" onClick=${() => go(anew, "A new scene")}>Begin anew</button></p>`;
}
