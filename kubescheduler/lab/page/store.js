// What the whole page shares, as signals: the scene's state, which screen and side are shown, how it looks.

import { computed, effect, signal } from "./vendor/signals.js";

// The answer of the verb `state`; null until the scene is open.
export const state = signal(null);
// Grows with every change of the scene; what was asked for an older one is asked again.
export const version = signal(0);
// The id of this browser tab's scene on the server.
export const tab = signal(null);
// "opening" | "open" | "closed" (no server) | "refused" (no token) | "dropped" (the server has no scene of this tab)
export const connection = signal("opening");
export const connectionProblems = signal([]);

export const screen = signal("cluster");
// The id of the side (a release with its configuration) that the screens show.
export const sideId = signal("a");
// The node that a screen dwells on, by name; null for none.
export const focusedNode = signal(null);

// The node to which the scheduler would bind the pod asked about, as the list of pending pods says; null for none.
export const wouldGo = signal(null);

// How many requests are under way.
export const busy = signal(0);
// Calls `run` after some milliseconds, which count as a request under way; gives what calls it off.
export function soon(run, milliseconds) {
  let waits = true;
  const end = () => {
    if (waits) busy.value -= 1;
    waits = false;
  };
  busy.value += 1;
  const timer = setTimeout(() => {
    run();
    end();
  }, milliseconds);
  return () => {
    clearTimeout(timer);
    end();
  };
}

// What a screen reader hears next: {text, urgent, at}.
export const announcement = signal({ text: "", urgent: false, at: 0 });
// [{id, text, kind: "done" | "fault", action: {text, run} | null}]
export const toasts = signal([]);
// The dialog that is open: a component, or null.
export const dialog = signal(null);

export const side = computed(() => {
  const sides = state.value?.sides ?? [];
  return sides.find((each) => each.id === sideId.value) ?? sides[0] ?? null;
});
// An attempt of a simulation that Why dwells on, {side, attempt, t, key}; null for the scene as it is.
export const moment = signal(null);
export const asked = computed(() => {
  if (!moment.value) return state.value?.asked ?? null;
  const [namespace, name] = moment.value.key.split("/");
  return { key: moment.value.key, namespace, name };
});
export const running = computed(() => connection.value === "open");

// "auto" | "light" | "dark"
export const theme = signal(remembered("theme", ["auto", "light", "dark"]));
// Large type, for a room: "off" | "on".
export const presenter = signal(remembered("presenter", ["off", "on"]));

function remembered(name, choices) {
  try {
    const kept = localStorage.getItem(`lab-${name}`);
    return choices.includes(kept) ? kept : choices[0];
  } catch {
    return choices[0];
  }
}

function keep(name, value) {
  document.documentElement.dataset[name] = value;
  try {
    localStorage.setItem(`lab-${name}`, value);
  } catch {
    // A page of a file may not keep anything; it then begins anew each time.
  }
}

effect(() => {
  if (screen.value !== "why") moment.value = null;
});
effect(() => keep("theme", theme.value));
effect(() => keep("presenter", presenter.value));

export function announce(text, urgent = false) {
  announcement.value = { text, urgent, at: announcement.value.at + 1 };
}

// How long a note stays: one with something to press longer than one that is only read.
const SECONDS = { done: 6, action: 12, fault: 20 };
const leaving = new Map();
let lastToast = 0;

// Shows a note in the bar, in place of the one there; a fault stays beside the next and says it to screen readers.
export function toast(text, { kind = "done", action = null } = {}) {
  const id = (lastToast += 1);
  const fault = kind === "fault" ? [] : toasts.value.filter((each) => each.kind === "fault").slice(-1);
  toasts.value = [...fault, { id, text, kind, action }];
  announce(text, kind === "fault");
  leave(id, kind === "done" && action ? "action" : kind);
}

function leave(id, pace) {
  leaving.set(id, setTimeout(() => dismiss(id), SECONDS[pace] * 1000));
}

// A note that the pointer or the focus is on stays until it is left.
export function stay(id) {
  clearTimeout(leaving.get(id));
}

export function goOn(id) {
  stay(id);
  if (toasts.value.some((each) => each.id === id)) leave(id, "done");
}

export function dismiss(id) {
  clearTimeout(leaving.get(id));
  leaving.delete(id);
  toasts.value = toasts.value.filter((each) => each.id !== id);
}
