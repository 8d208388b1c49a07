// The few pictures of the page, as outlines on a grid of 24, in the colour of the text.

import { html } from "../ui.js";

const PATHS = {
  undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "m15 14 5-5-5-5M20 9H10a6 6 0 0 0 0 12h3",
  share: "M12 15V3M8 7l4-4 4 4M5 13v7h14v-7",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M19 5l-1.5 1.5M6.5 17.5 5 19",
  dark: "M20 14.5A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.5Z",
  auto: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM12 3v18M12 8h6.5M12 12h8.5M12 16h7.5",
  presenter: "M3 4h18M4 4v11h16V4M12 15v5M8 20h8",
  close: "M6 6l12 12M18 6 6 18",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  add: "M12 5v14M5 12h14",
  next: "m9 5 7 7-7 7",
  previous: "m15 5-7 7 7 7",
  play: "M7 5v14l11-7Z",
  pause: "M8 5v14M16 5v14",
  down: "m6 9 6 6 6-6",
  move: "M12 3v18M3 12h18M9 6l3-3 3 3M9 18l3 3 3-3M6 9l-3 3 3 3M18 9l3 3-3 3",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM15.5 15.5 21 21",
  table: "M3 5h18v14H3ZM3 10h18M3 14.5h18M9 10v9",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
    <path d=${PATHS[name]} />
  </svg>`;
}

// A button that is only a picture; its name is read out and shown as a hint.
export function IconButton({ name, label, ...rest }) {
  return html`<button type="button" class="icon" aria-label=${label} title=${label} ...${rest}>
    <${Icon} name=${name} />
  </button>`;
}
