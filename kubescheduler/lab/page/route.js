// What the address says after #: which screen and side. The token and a shared scene are read once, and removed.

import { inTab } from "./kept_scene.js";
import { connection, screen, sideId } from "./store.js";
import { effect } from "./ui.js";

const TOKEN = "lab-token";
const TAB = "lab-tab";

export function fragment() {
  return new URLSearchParams(location.hash.slice(1));
}

// {token, tab, share, exercise} of the address, or kept from before a reload.
export function opening() {
  const given = fragment();
  const found = {
    token: inTab(TOKEN, given.get("token")) ?? "",
    tab: given.get("token") ? null : inTab(TAB),
    share: given.get("share"),
    exercise: given.get("exercise"),
  };
  show(given);
  return found;
}

export function keepTab(id) {
  inTab(TAB, id);
}

function show(given) {
  if (given.get("screen")) screen.value = given.get("screen");
  if (given.get("side")) sideId.value = given.get("side");
}

export function address(to) {
  const parts = new URLSearchParams({ screen: to });
  if (sideId.value !== "a") parts.set("side", sideId.value);
  return `#${parts}`;
}

// Puts an address into the history, in place of the one there or (anew) after it. A frame of a notebook has no address
// (about:srcdoc) and may not write one.
export function standAt(wanted, anew = false) {
  if (location.protocol === "about:") return;
  if (anew) history.pushState(null, "", wanted);
  else history.replaceState(null, "", wanted);
}

// Keeps the address and the screen in step, both ways.
export function followRoute() {
  addEventListener("hashchange", () => show(fragment()));
  effect(() => {
    const wanted = address(screen.value);
    if (connection.value === "open" && location.hash !== wanted) standAt(wanted, Boolean(fragment().get("screen")));
  });
  addEventListener("popstate", () => show(fragment()));
}
