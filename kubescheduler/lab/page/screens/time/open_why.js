import { moment, screen } from "../../store.js";
import { batch } from "../../ui.js";

// Shows the decision of an attempt on the screen Why, as the cluster was then.
export function openWhy(side, attempt) {
  batch(() => {
    moment.value = { side, attempt: attempt.id, t: attempt.t, key: attempt.pod };
    screen.value = "why";
  });
}
