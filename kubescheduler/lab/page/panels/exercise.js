import { state } from "../store.js";
import { html } from "../ui.js";

export default function Exercise() {
  return html`<h2>${state.value.exercise.title}</h2>`;
}
