// What this browser tab keeps over a reload.

// The text that is kept under a name, which a new one replaces; null for none. Without storage nothing is kept.
export function inTab(key, text = null) {
  try {
    if (text) sessionStorage.setItem(key, text);
    return text ?? sessionStorage.getItem(key);
  } catch {
    return text;
  }
}

// What the tab needs to open its scene again when the server has dropped it.

const KEY = "lab-scene";

// {tab, from: what it was opened from (null: a file), first: the version then, seen: the newest, share, shared: the
// text of a link and the version that it is of, both null until there is one}
let kept = JSON.parse(inTab(KEY));

function keep(next) {
  kept = next;
  inTab(KEY, JSON.stringify(kept));
}

export function keepOpened(tab, version, from) {
  keep({ tab, from: from.lab ? null : from, first: version, seen: version, share: null, shared: null });
}

// Whether the scene is no longer what it was opened from.
export function keepSeen(tab, version) {
  if (kept?.tab !== tab) return false;
  if (kept.seen !== version) keep({ ...kept, seen: version });
  return version !== kept.first || kept.from === null;
}

export function keepShare(tab, version, share) {
  if (kept?.tab === tab) keep({ ...kept, share: share || null, shared: version });
}

const MISSING = "Steps to undo are not kept; plugins from files take no part, and extenders are not asked until you say so.";

// How to open the scene of a tab again, and what is lost by it: {from, text}, from null where it was not kept.
// anew: what a new beginning is opened from.
export function again(tab) {
  if (kept?.tab !== tab) return { from: null, anew: "start", text: "This tab does not know what the scene was." };
  const { from, first, seen, share, shared } = kept;
  const exercise = from?.exercise !== undefined;
  const anew = exercise ? from : "start";
  if (from && first === seen) return { from, anew, text: "It was not changed since it was opened, so nothing of it is lost." };
  if (exercise) return { from: null, anew, text: "What was changed in the exercise is lost." };
  if (!share) return { from: null, anew, text: "It had been changed, and this tab could not keep it: the changes are lost." };
  const when = shared === seen ? "as it was last" : "as it was some changes ago; the last ones are lost";
  return { from: { share }, anew, text: `This tab kept it ${when}. ${MISSING}` };
}
