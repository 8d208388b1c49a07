// Beside the screen: the exercise, if the scene is one. Its panel is loaded then.

import { PANELS } from "../screens.js";
import { state } from "../store.js";
import { html, useEffect, useState } from "../ui.js";

export function ExercisePlace() {
  const exercise = state.value?.exercise;
  const [panel, setPanel] = useState(null);
  useEffect(() => {
    if (exercise && !panel) PANELS.exercise().then((module) => setPanel(() => module.default));
  }, [Boolean(exercise)]);
  if (!exercise || !panel) return null;
  return html`<aside class="exercise" aria-label=${`Exercise: ${exercise.title}`}><${panel} /></aside>`;
}
