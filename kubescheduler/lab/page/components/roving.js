// One stop of the Tab key for a group of many parts; arrow keys walk inside it.

// Of a container whose parts carry data-rove: keeps one of them reachable, and moves by arrows, Home and End.
export function rove(event) {
  const parts = [...event.currentTarget.querySelectorAll("[data-rove]")];
  const at = parts.indexOf(event.target.closest("[data-rove]"));
  if (at < 0) return;
  const last = parts.length - 1;
  const to = {
    ArrowRight: Math.min(last, at + 1),
    ArrowDown: Math.min(last, at + 1),
    ArrowLeft: Math.max(0, at - 1),
    ArrowUp: Math.max(0, at - 1),
    Home: 0,
    End: last,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  parts[to].focus();
}

// On focus inside the container: that part is the one that Tab comes back to.
export function rest(event) {
  const part = event.target.closest("[data-rove]");
  if (!part) return;
  for (const each of event.currentTarget.querySelectorAll("[data-rove]")) each.tabIndex = each === part ? 0 : -1;
}
