// How many predictions came true, for as long as the page is open.

import { signal } from "../ui.js";

export const tally = signal({ right: 0, asked: 0 });

// One of several best nodes is as right as the one that was taken.
export function isRight(guess, found) {
  if (!found.host) return guess === "";
  return guess === found.host || (found.ties?.nodes.includes(guess) ?? false);
}

export function score(guess, found) {
  const { right, asked } = tally.value;
  tally.value = { right: right + (isRight(guess, found) ? 1 : 0), asked: asked + 1 };
}
