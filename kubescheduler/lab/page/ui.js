// What every part of the page draws with: preact, its hooks and signals, and htm instead of a build step.

import { h } from "./vendor/preact.js";
import { useEffect, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);

export { Fragment, render } from "./vendor/preact.js";
export {
  useCallback,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "./vendor/hooks.js";
export { batch, computed, effect, signal, useComputed, useSignal } from "./vendor/signals.js";

// The names that hold, as one class attribute: classes("node", chosen && "chosen").
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}

// Whether the window is as narrow as a phone's.
const PHONE = matchMedia("(max-width: 40rem)");
export function useNarrow() {
  const [narrow, set] = useState(PHONE.matches);
  useEffect(() => {
    const change = () => set(PHONE.matches);
    PHONE.addEventListener("change", change);
    return () => PHONE.removeEventListener("change", change);
  }, []);
  return narrow;
}

// Puts a stylesheet of a screen into the head, once; resolves when it can be used.
const sheets = new Map();
export function useSheet(address) {
  if (sheets.has(address)) return sheets.get(address);
  // A replay has all of them in its document.
  if (document.querySelector(`style[data-sheet="${address}"]`)) return Promise.resolve();
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = address;
  const ready = new Promise((done) => {
    link.onload = done;
    link.onerror = done;
  });
  sheets.set(address, ready);
  document.head.append(link);
  return ready;
}
