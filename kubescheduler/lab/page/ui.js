// What every part of the page draws with: preact, its hooks and signals, and htm instead of a build step.

import { useEffect, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { h } from "./vendor/preact.js";

export const html = htm.bind(h);

export { render } from "./vendor/preact.js";
export { useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
export { batch, effect, signal, useComputed } from "./vendor/signals.js";

// The names that hold, as one class attribute: classes("node", chosen && "chosen").
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}

// A name in CamelCase that may be broken at its humps.
export function humps(text) {
  return text.split(/(?<=[a-z])(?=[A-Z])/).map((part, at) => (at ? html`<wbr />${part}` : part));
}

// Calls `run` when a value is another than it was at the last drawing. While drawing, not in an effect: the first effect
// runs late, and would take back what was typed or chosen before it.
export function useWhenNew(value, run) {
  const was = useRef(value);
  if (was.current === value) return;
  was.current = value;
  run();
}

// Calls `run` when its part of the page goes, and when the page is left or closed.
export function useLeaving(run) {
  const newest = useRef(run);
  newest.current = run;
  useEffect(() => {
    const leave = () => newest.current();
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      leave();
    };
  }, []);
}

// Whether the window is as narrow as a phone's.
const PHONE = matchMedia("(max-width: 40rem)");
export function useNarrow() {
  return useMatch(PHONE);
}

// Whether the system wants dark colours.
const DARK = matchMedia("(prefers-color-scheme: dark)");
export function useDark() {
  return useMatch(DARK);
}

function useMatch(query) {
  const [matches, set] = useState(query.matches);
  useLayoutEffect(() => {
    const change = () => set(query.matches);
    change();
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);
  return matches;
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
