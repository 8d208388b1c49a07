// Where in the drawing each stay goes: the first row of its lane that is free.

// What marks an attempt, around (0, 0).
export const SIGNS = { placed: "M-4 0 -1 3 4-3", failed: "M-3-3 3 3M3-3-3 3", preempts: "M0-4 4 0 0 4-4 0Z" };

const MOST_TALL = 120;
const THICKEST = 8;
const GAP = 1;

// The rows of stays that are sorted by their begin: [[stay, row]…] and how many rows.
function rowsOf(stays, end) {
  const free = [];
  const placed = stays.map((stay) => {
    const to = stay.to ?? end;
    let row = free.findIndex((until) => until <= stay.from);
    if (row < 0) row = free.length;
    free[row] = Math.max(to, stay.from + end / 1000);
    return [{ pod: stay.pod, from: stay.from, to, open: stay.to === null }, row];
  });
  return [placed, free.length];
}

// names: the lanes from the top. Those that are always empty and rare are left out.
export function placedStays(run, names, top, head) {
  const lanes = [];
  let y = top;
  for (const name of names) {
    const stays = run.lanes[name] ?? [];
    if (!stays.length && (name === "held" || name === "waiting")) continue;
    const [placed, rows] = rowsOf(stays, run.duration);
    const thick = Math.max(1, Math.min(THICKEST, MOST_TALL / Math.max(rows, 1) - GAP));
    const height = head + Math.max(6, rows * (thick + GAP) + 4);
    const from = y;
    const at = placed.map(([stay, row]) => ({ ...stay, y: from + head + 2 + row * (thick + GAP) }));
    lanes.push({ name, top: from, height, thick, stays: at });
    y += height + 4;
  }
  return { lanes, height: y };
}

// The share of cpu in use, as a faint line behind the marks.
export function utilisationPath(run, x, height) {
  const [times, cpu] = run.samples;
  return times
    .map((time, at) => `${at ? `H${x(time).toFixed(1)}V` : `M${x(time).toFixed(1)} `}${(height * (1 - (cpu[at] ?? 0))).toFixed(1)}`)
    .join("");
}

// In words, how many pods were ever in a lane; one may be there several times.
export function podsOf({ stays }) {
  const pods = new Set(stays.map((stay) => stay.pod)).size;
  return `${pods} ${pods === 1 ? "pod" : "pods"}`;
}
