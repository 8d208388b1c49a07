// Questions to the scene and changes of it. A screen uses `useAnswer`; a button uses `edit`.

import { keepOpened, keepSeen, keepShare } from "./kept_scene.js";
import { announce, busy, connection, connectionProblems, moment, soon, state, tab, toast, version } from "./store.js";
import { batch, useEffect, useRef, useState } from "./ui.js";

let transport = null;
// Slots are this page's own: a tab that was duplicated, or is loaded again, has the same scene, whose server remembers
// the numbers that another page used.
const PAGE = Math.random().toString(36).slice(2);
const serials = new Map();
const numbers = new Map();
const underWay = new Map();

export function connect(link) {
  transport = link;
}

// Whether changes can be asked for: a replay only shows.
export function live() {
  return transport?.live ?? false;
}

// What was asked of the scene as it is now, newest last: a replay answers it too.
const asked = new Map();
const KEPT = 400;
const UNKEPT = new Set(["open", "edit", "undo", "redo", "export", "share", "exerciseHint", "exerciseFile", "exerciseCheck", "releases", "releaseStep"]);

function note(verb, params) {
  const key = `${verb} ${JSON.stringify(params)}`;
  asked.delete(key);
  asked.set(key, { verb, params });
  if (asked.size > KEPT) asked.delete(asked.keys().next().value);
}

// [{verb, params}]
export function journal() {
  return [...asked.values()];
}

// Asks a verb. slot: of the questions with one slot only the newest counts: an older one is aborted, and gives undefined.
export async function ask(verb, params = {}, { slot = null } = {}) {
  const body = { ...params, tab: tab.value ?? undefined };
  let controller;
  if (!UNKEPT.has(verb)) note(verb, params);
  if (slot) {
    if (!numbers.has(slot)) numbers.set(slot, numbers.size);
    body.ask = `${PAGE} ${numbers.get(slot)}`;
    body.serial = (serials.get(slot) ?? 0) + 1;
    serials.set(slot, body.serial);
    underWay.get(slot)?.abort();
    underWay.set(slot, (controller = new AbortController()));
  }
  busy.value += 1;
  try {
    const answer = await transport.ask(verb, body, controller?.signal);
    return slot && serials.get(slot) !== body.serial ? undefined : answer;
  } catch (fault) {
    if (fault.kind === "superseded" || (slot && serials.get(slot) !== body.serial)) return undefined;
    if (fault.kind === "gone" || fault.kind === "token" || fault.kind === "tab") lost(fault);
    throw fault;
  } finally {
    busy.value -= 1;
  }
}

// Nobody waits for the answer to the question in a slot any more.
export function stop(slot) {
  underWay.get(slot)?.abort();
}

const LOST = { token: "refused", tab: "dropped", gone: "closed" };

function lost(fault) {
  batch(() => {
    connection.value = LOST[fault.kind];
    connectionProblems.value = fault.problems;
  });
}

function problemsOf(fault) {
  if (!fault.problems) throw fault;
  return fault.problems;
}

// Questions that a moment of a simulation answers too.
const AT_MOMENT = new Set(["decision", "why", "whatif", "extenderRequest"]);

// A question about the moment that Why dwells on, or about the scene as it is.
async function askAt(then, verb, params, options) {
  if (!then || !AT_MOMENT.has(verb)) return ask(verb, params, options);
  const { side, ...rest } = params;
  const answer = await ask("timeAt", { side: then.side, attempt: then.attempt, verb, params: rest }, options);
  return answer && { ...answer[verb], version: `${answer.version} ${then.attempt}` };
}

// The answer to a question, asked anew when it or the scene changed: {answer, problems, loading, of}.
// While a newer answer is awaited the older stays, with loading true; of: the parameters it answers, as JSON.
// later: milliseconds to wait first, for what is beside what the person looks at.
export function useAnswer(verb, params = {}, { slot = verb, when = true, later = 0 } = {}) {
  const [known, learn] = useState({ answer: null, problems: null, loading: true, of: null });
  const key = JSON.stringify(params);
  const shown = `${tab.value} ${version.value}`;
  const then = moment.value;
  const alive = useRef(true);
  useEffect(() => () => (alive.current = false), []);
  useEffect(() => {
    if (!when) return;
    learn((before) => ({ ...before, loading: true }));
    const begin = () =>
      askAt(then, verb, params, { slot }).then(
        (answer) => answer !== undefined && alive.current && learn({ answer, problems: null, loading: false, of: key }),
        (fault) => alive.current && learn({ answer: null, problems: problemsOf(fault), loading: false, of: key }),
      );
    if (!later || !known.answer) return void begin();
    return soon(begin, later);
  }, [verb, key, shown, then, when, slot]);
  return known;
}

// Answers of changes can arrive in another order than they were made: an older state than the one shown is dropped.
function take(next) {
  if (next.version < version.value) return;
  if (next.version !== version.value) asked.clear();
  batch(() => {
    state.value = next;
    version.value = next.version;
  });
}

// Asks the scene what it is now: after an event, and when the page opens.
export async function refresh() {
  const next = await ask("state");
  take(next.state ?? next);
}

// A verb that changes the scene; its text becomes a note with Undo. Gives the answer, or null after a fault.
async function change(verb, params, { quiet = false, undo: canUndo = true } = {}) {
  try {
    const answer = await ask(verb, params);
    take(answer.state);
    if (quiet) announce(answer.text);
    else toast(answer.text, { action: canUndo ? { text: "Undo", run: undo } : null });
    return answer;
  } catch (fault) {
    toast(problemsOf(fault).join("\n"), { kind: "fault" });
    return null;
  }
}

// Changes the scene: edit({do: "bind", pod, node}).
export function edit(wanted, options) {
  return change("edit", { edit: wanted }, options);
}

export function undo() {
  return change("undo", {}, { undo: false });
}

export function redo() {
  return change("redo", {}, { undo: false });
}

// A change that a newer one of the same slot overtakes: what a slider does while it is dragged. join: changes in a
// row with the same text are one step back. Gives the answer, undefined when overtaken, null after a fault.
export async function editInSlot(wanted, { slot, join }) {
  try {
    const answer = await ask("edit", { edit: wanted, join }, { slot });
    if (answer === undefined) return undefined;
    take(answer.state);
    announce(answer.text);
    return answer;
  } catch (fault) {
    toast(problemsOf(fault).join("\n"), { kind: "fault" });
    return null;
  }
}

// The same without a note: gives the answer or throws the Fault, for forms that show problems themselves.
export async function editOrFault(wanted) {
  const answer = await ask("edit", { edit: wanted });
  take(answer.state);
  toast(answer.text, { action: { text: "Undo", run: undo } });
  return answer;
}

// Opens a scene: from "start", "bundled", {share}, {lab} or {exercise}.
export async function open(from) {
  const opened = await ask("open", { from });
  asked.clear();
  keepOpened(opened.tab, opened.state.version, from);
  batch(() => {
    tab.value = opened.tab;
    version.value = 0;
    take(opened.state);
    connection.value = "open";
  });
  return opened;
}

// Follows changes that come from elsewhere (a plugin's file was saved, the tab was duplicated); gives what ends it.
export function follow() {
  return transport.events(tab.value, async (event) => {
    if (event.what === "gone") return void (connection.value = "dropped");
    if (event.version !== version.value) await refresh().catch(() => {});
  });
}

// Keeps the scene in this browser tab as the text of a link, where it is small enough for that.
export async function keepScene() {
  const id = tab.value;
  if (!transport.live || !keepSeen(id, version.value)) return;
  if (state.value.nodesTotal + state.value.podsTotal > MOST_KEPT) return;
  const answer = await transport.ask("share", { tab: id }).catch(() => null);
  if (answer) keepShare(id, answer.version, answer.text);
}

// Nodes and pods; more do not fit into a link.
const MOST_KEPT = 600;
