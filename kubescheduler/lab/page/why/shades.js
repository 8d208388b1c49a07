// Rules are told apart by letters; neighbours also by shades of the accent, on which the letters stay legible.

const STRONG = [92, 84, 76];
const WEAK = [20, 30, 40];

export function letter(at) {
  return at < 26 ? String.fromCharCode(65 + at) : `${at + 1}`;
}

export function shading(at) {
  const strong = at % 2 === 0;
  const share = (strong ? STRONG : WEAK)[Math.floor(at / 2) % 3];
  return {
    backgroundColor: `color-mix(in srgb, var(--accent) ${share}%, var(--page))`,
    color: strong ? "var(--accent-text)" : "var(--text)",
  };
}
