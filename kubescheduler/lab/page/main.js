// Opens the scene and draws the shell.

import { connect, follow, keepScene, open, refresh } from "./api.js";
import { again, keepSeen } from "./kept_scene.js";
import { address, followRoute, fragment, keepTab, opening, standAt } from "./route.js";
import { Shell } from "./shell.js";
import { connection, connectionProblems, screen, tab, toast, version } from "./store.js";
import { cannedTransport, httpTransport } from "./transport.js";
import { effect, html, render } from "./ui.js";

// The scene of this tab again after a reload, or the one that the address or the command line names.
async function begin(from) {
  if (from.tab && !from.share && !from.exercise) {
    tab.value = from.tab;
    try {
      await refresh();
      connection.value = "open";
      return;
    } catch (fault) {
      if (fault.kind !== "tab") throw fault;
      const kept = again(from.tab);
      if (!kept.from) return;
      await open(kept.from);
      toast(`The server had dropped this tab's scene; it is opened again. ${kept.text}`);
      return;
    }
  }
  const { share, exercise } = from;
  await openFirst(share ? { share } : exercise ? { exercise } : "start");
}

// What the address names, such as a link that was cut off, may be nothing that can be opened: the tab begins all the same.
async function openFirst(from) {
  try {
    await open(from);
  } catch (fault) {
    if (fault.kind !== "asked" || from === "start") throw fault;
    await open("start");
    toast(fault.problems.join("\n"), { kind: "fault" });
  }
}

// Hears of changes of the tab's scene; of another one's when another is opened.
function followScene() {
  let end = null;
  effect(() => {
    const id = tab.value;
    end?.();
    end = null;
    if (!id) return;
    keepTab(id);
    end = follow();
  });
}

const PAUSE = 700;

// Keeps the scene in this tab, a moment after each change.
function keepScenes() {
  let timer = null;
  effect(() => {
    if (connection.value !== "open") return;
    keepSeen(tab.value, version.value);
    clearTimeout(timer);
    timer = setTimeout(keepScene, PAUSE);
  });
}

// A link with a scene that is opened in this tab.
async function openShared() {
  const share = fragment().get("share");
  if (!share) return;
  try {
    await open({ share });
    toast("Opened the scene of the link");
  } catch (fault) {
    toast((fault.problems ?? [String(fault)]).join("\n"), { kind: "fault" });
  }
  standAt(address(screen.value));
}

async function start() {
  const replay = document.getElementById("replay");
  const from = opening();
  connect(replay ? cannedTransport(JSON.parse(replay.textContent)) : httpTransport(from.token));
  try {
    await begin(from);
    followRoute();
    followScene();
    keepScenes();
    addEventListener("hashchange", openShared);
  } catch (fault) {
    connectionProblems.value = fault.problems ?? [String(fault)];
    connection.value = fault.kind === "token" ? "refused" : "closed";
  }
}

const place = document.getElementById("lab");
place.textContent = "";
render(html`<${Shell} />`, place);
start();
