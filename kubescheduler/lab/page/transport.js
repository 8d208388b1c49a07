// How the page reaches the scene: over HTTP, or from answers kept in a file (a replay).

// What went wrong, as sentences for people. kind: "asked" | "gone" (no server) | "tab" (unknown there) | "token"
export class Fault extends Error {
  constructor(problems, kind = "asked") {
    super(problems.join("\n"));
    this.problems = problems;
    this.kind = kind;
  }
}

const SILENT = "The server does not answer. Is `kubescheduler lab` still running?";
const KINDS = { 403: "token" };

// Whether the page is being left: what it still sends outlives it, up to the 64 kB that browsers allow.
let leaving = false;
addEventListener("pagehide", () => (leaving = true));
addEventListener("pageshow", () => (leaving = false));

export function httpTransport(token) {
  return {
    live: true,
    async ask(verb, body, signal) {
      let response;
      try {
        response = await fetch(`api/${verb}`, {
          method: "POST",
          headers: { "Content-Type": "application/json", "X-Lab-Token": token },
          body: JSON.stringify(body),
          signal,
          keepalive: leaving,
        });
      } catch (error) {
        if (error.name === "AbortError") throw new Fault(["superseded"], "superseded");
        throw new Fault([SILENT], "gone");
      }
      const answer = await response.json().catch(() => ({ problems: [`The server answered ${response.status}.`] }));
      if (answer.refused) throw new Fault(answer.problems, answer.refused);
      if (!response.ok) throw new Fault(answer.problems ?? [`${response.status}`], KINDS[response.status] ?? "asked");
      return answer;
    },
    // Calls `changed` with {version, what, problems?} when the scene changed otherwise than by this page.
    events(tab, changed) {
      const source = new EventSource(`api/events?tab=${encodeURIComponent(tab)}&token=${encodeURIComponent(token)}`);
      source.onmessage = (event) => {
        const told = JSON.parse(event.data);
        if (told.what === "gone") source.close();
        changed(told);
      };
      return () => source.close();
    },
  };
}

// The parameters with their keys in order, so that the same question is the same text.
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join(",")}}`;
}

// Some rows of an answer that a replay holds whole, or one cell of a node's evidence; undefined when it is not there.
function partOf(answers, verb, { from, to, find, order, check, rule, ...rest }) {
  if (verb === "why") {
    const whole = answers[`why ${canonical(rest)}`];
    if (!whole || whole.fault || (!check && !rule)) return whole;
    const of = (list, id) => list.filter((each) => each.rule === id);
    return { ...whole, refusals: of(whole.refusals, check), scores: of(whole.scores, rule) };
  }
  const whole = answers[`${verb} ${canonical(verb === "decision" ? { all: false, ...rest } : rest)} whole`];
  if (!whole || whole.fault) return whole;
  const found = whole.nodes.filter((node) => !find || node.name.includes(find));
  if (order === "name") found.sort((a, b) => (a.name < b.name ? -1 : 1));
  const total = find ? found.length : whole.total;
  const fitting = find ? found.filter((node) => node.fits).length : whole.fitting;
  return { ...whole, total, fitting, nodes: found.slice(from ?? 0, to ?? 60) };
}

const NOT_KEPT = "This replay holds no answer to that. Open the scene with `kubescheduler lab` to ask it.";

// answers: verb and canonical parameters, as `verb {…}`, to the answer, or to {fault: [what the scene said of it]}.
export function cannedTransport(answers) {
  return {
    live: false,
    async ask(verb, body) {
      const { tab, ask, serial, ...params } = body;
      const answer = answers[`${verb} ${canonical(params)}`] ?? partOf(answers, verb, params);
      if (answer === undefined) throw new Fault([NOT_KEPT]);
      if (answer.fault) throw new Fault(answer.fault);
      return answer;
    },
    events: () => () => {},
  };
}
