// A bar of one resource: what is used, what the asked pod would take (hatched), what is free.

import { classes, html } from "../ui.js";

// resource: {name, allocatable, used, ghost, text: {allocatable, used, ghost}}
export function Bar({ resource }) {
  const { name, allocatable, used, ghost, text } = resource;
  const whole = Math.max(allocatable, used, 1);
  const over = used + ghost > allocatable;
  const share = (amount) => `${Math.min(100, (amount / whole) * 100)}%`;
  const rest = Math.max(0, whole - used);
  return html`<div class=${classes("bar-row", over && ghost > 0 && "over")} title=${barText(resource)}>
    <span class="bar-name">${short(name)}</span>
    <span class="bar-track" aria-hidden="true">
      <span class="bar-used" style=${{ width: share(used) }}></span>
      <span class="bar-ghost" style=${{ width: share(Math.min(ghost, rest) || (ghost && whole * 0.03)) }}></span>
    </span>
    <span class="bar-text" aria-hidden="true">${over && ghost > 0 ? "! " : ""}${text.used} / ${text.allocatable}</span>
    <span class="unseen">${barText(resource)}</span>
  </div>`;
}

export function barText({ name, allocatable, used, ghost, text }) {
  const base = `${name}: ${text.used} of ${text.allocatable} used`;
  if (!ghost) return base;
  const verdict = used + ghost > allocatable ? ", more than is free" : "";
  return `${base}; this pod asks for ${text.ghost}${verdict}`;
}

// A resource's name without its domain, where that is long.
export function short(name) {
  return name.includes("/") ? name.slice(name.lastIndexOf("/") + 1) : name.replace("ephemeral-storage", "storage");
}
