// Long lists asked piece by piece: only what is in view is asked for and drawn.

import { useAnswer } from "../api.js";
import { presenter, tab } from "../store.js";
import { useEffect, useLayoutEffect, useRef, useState } from "../ui.js";

const PIECE = 60;
const MOST_KEPT = 600;

// The nodes of a verb's answer by their index. range: {from, to} in view. Gives {head, row(i), known(count), problems,
// loading}: head is the newest answer; row(i) is undefined until it came; known has those of the first `count` that came.
export function usePages(verb, params, range) {
  const from = Math.floor(range.from / PIECE) * PIECE;
  const to = Math.max(from + PIECE, Math.ceil(range.to / PIECE) * PIECE);
  const known = useAnswer(verb, { ...params, from, to });
  const kept = useRef({ rows: new Map(), answer: null, of: null });
  keepRows(kept.current, known);
  const row = (at) => kept.current.rows.get(at);
  const came = (count) => Array.from({ length: count }, (_, at) => row(at)).filter(Boolean);
  return { head: known.answer, problems: known.problems, loading: known.loading, row, known: came };
}

// Takes a new answer's records to those kept; drops these where they answer something else, or an older scene.
function keepRows(kept, { answer, of }) {
  if (!answer || kept.answer === answer) return;
  const { from, to, ...rest } = JSON.parse(of);
  const subject = `${tab.value} ${JSON.stringify(rest)}`;
  const same = kept.of === subject && kept.answer?.version === answer.version && kept.rows.size < MOST_KEPT;
  if (!same) kept.rows = new Map();
  kept.answer = answer;
  kept.of = subject;
  answer.nodes.forEach((record, at) => kept.rows.set(from + at, record));
}

// Pixels of one rem: sizes that are computed follow the size of the type.
export function useRem() {
  const large = presenter.value;
  const [rem, set] = useState(fontSize);
  useLayoutEffect(() => {
    // An event of the window's size comes before the size of the type follows it.
    const watch = new ResizeObserver(() => set(fontSize()));
    watch.observe(document.documentElement);
    return () => watch.disconnect();
  }, [large]);
  return rem;
}

function fontSize() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize);
}

// The part of an element that the window shows, and its width: {top, bottom, width} in pixels from the element's top.
export function useWindowPart(element) {
  const [part, setPart] = useState({ top: 0, bottom: 1200, width: 0 });
  useEffect(() => {
    if (!element.current) return;
    const measure = () => {
      const box = element.current?.getBoundingClientRect();
      if (!box) return;
      const next = { top: Math.max(0, -box.top), bottom: Math.max(0, innerHeight - box.top), width: box.width };
      setPart((before) => (close(before, next) ? before : next));
    };
    const watch = new ResizeObserver(measure);
    watch.observe(element.current);
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    measure();
    return () => {
      watch.disconnect();
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  }, []);
  return part;
}

const STEP = 40;

function close(before, next) {
  return (
    before.width === next.width &&
    Math.abs(before.top - next.top) < STEP &&
    Math.abs(before.bottom - next.bottom) < STEP
  );
}
