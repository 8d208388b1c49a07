// The box of one check or plugin. It stays as the person left it until the form says what became of it.

import { editInSlot, live } from "../../api.js";
import { side } from "../../store.js";
import { html, useEffect, useRef, useState } from "../../ui.js";

// [whether the box is ticked, what to do when it is clicked]. A drawing in between must not turn it back.
function useTicked(row, point, hold) {
  const [wanted, want] = useState(null);
  const underWay = useRef(0);
  useEffect(() => {
    if (!underWay.current) want(null);
  }, [row]);
  const change = async (event) => {
    const on = event.target.checked;
    hold();
    want(on);
    underWay.current += 1;
    const edit = { do: "toggle", side: side.value.id, rule: row.id, point, on };
    const answer = await editInSlot(edit, { slot: `toggle ${row.id} ${point}` });
    underWay.current -= 1;
    if (answer === null) want(null);
  };
  return [wanted ?? row.on, change];
}

// row: of the form. point: the extension point that is meant, undefined for all. more: other attributes.
export function RuleBox({ row, point, hold, ...more }) {
  const [ticked, change] = useTicked(row, point, hold);
  const disabled = !live() || Boolean(row.fixed);
  return html`<input type="checkbox" checked=${ticked} disabled=${disabled} onChange=${change} ...${more} />`;
}
