// Ways to give the scene to somebody: a link, files of several kinds, a drawing; and to open one that was given.

import { ask, journal, live, open } from "../api.js";
import { Dialog, closeDialog } from "../components/dialog.js";
import { Faults, Loading } from "../components/states.js";
import { copied, download } from "../components/tables.js";
import { toast } from "../store.js";
import { html, useEffect, useRef, useState, useSheet } from "../ui.js";

useSheet("style/share.css");

const FILES = [
  { as: "lab", title: "Scene", file: ".lab.json", text: "Everything, to be opened here again." },
  { as: "replay", title: "Replay", file: ".html", text: "One page that opens without a server and shows what you have looked at." },
  { as: "manifests", title: "Manifests", file: ".yaml", text: "The cluster's objects, for kubectl and the commands here." },
  { as: "pytest", title: "Test", file: ".py", text: "A test for pytest that expects today's decisions." },
  { as: "simulator", title: "kube-scheduler-simulator", file: ".json", text: "What its import takes." },
];

function linkOf(text) {
  return `${location.origin}${location.pathname}#share=${text}`;
}

function Link() {
  const [known, learn] = useState(null);
  const field = useRef(null);
  useEffect(() => {
    ask("share", {}).then(learn, (fault) => learn({ problems: fault.problems ?? [String(fault)] }));
  }, []);
  if (!known) return html`<${Loading} text="Writing the link" />`;
  if (known.problems) return html`<${Faults} title="No link" problems=${known.problems} />`;
  if (known.tooLong) return html`<p>The scene is too large for a link (8 kB at most). Save it as a file instead.</p>`;
  const link = linkOf(known.text);
  const copy = async () => {
    if (await copied(link)) toast("The link is on the clipboard");
    else field.current.select();
  };
  return html`<div class="share-link">
    <label class="field"><span>Link, ${(link.length / 1000).toFixed(1)} kB</span><input readonly ref=${field} value=${link} onFocus=${(event) => event.target.select()} /></label>
    <button type="button" class="primary" onClick=${copy}>Copy</button>
    <p class="quiet">The scene itself is in the part after #, which no server is sent. In this tab the link opens it; elsewhere, paste it under “Open one”.</p>
  </div>`;
}

async function save(as) {
  const extra = as === "replay" ? { asks: journal() } : {};
  const file = await ask("export", { as, ...extra });
  download(file.name, file.mediaType, file.text);
  toast(`Saved ${file.name}`);
}

function Saving({ fail }) {
  const [busy, setBusy] = useState(null);
  const go = async (as) => {
    setBusy(as);
    await save(as).catch((fault) => fail(fault.problems ?? [String(fault)]));
    setBusy(null);
  };
  return html`<ul class="share-files">
    ${FILES.map(
      ({ as, title, file, text }) => html`<li>
        <button type="button" disabled=${busy !== null} onClick=${() => go(as)}>${title} <span class="quiet">${file}</span></button>
        <span class="quiet">${busy === as ? "Writing …" : text}</span>
      </li>`,
    )}
  </ul>`;
}

function Opening({ fail }) {
  const [over, setOver] = useState(false);
  const [link, setLink] = useState("");
  const take = async (file) => {
    if (!file) return;
    try {
      await open({ lab: JSON.parse(await file.text()) });
      closeDialog();
      toast(`Opened ${file.name}`);
    } catch (fault) {
      fail(fault.problems ?? [`${file.name} is not a scene: ${fault.message}`]);
    }
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files[0]);
  };
  const follow = async (event) => {
    event.preventDefault();
    const share = new URLSearchParams(link.slice(link.indexOf("#") + 1)).get("share") ?? link.trim();
    try {
      await open({ share });
      closeDialog();
      toast("Opened the scene of the link");
    } catch (fault) {
      fail(fault.problems ?? [String(fault)]);
    }
  };
  return html`<form class="share-link" onSubmit=${follow}>
      <label class="field"><span>A link that somebody gave you; its scene takes the place of this one</span>
        <input value=${link} autocomplete="off" onInput=${(event) => setLink(event.target.value)} />
      </label>
      <button disabled=${!link.trim()}>Open</button>
    </form>
    <label
    class="share-open"
    data-over=${over ? "" : null}
    onDragOver=${(event) => (event.preventDefault(), setOver(true))}
    onDragLeave=${() => setOver(false)}
    onDrop=${drop}
  >
    <span>A <code>.lab.json</code> file; it takes the place of this scene</span>
    <input type="file" accept=".json,application/json" onChange=${(event) => take(event.target.files[0])} />
  </label>`;
}

export default function Share() {
  const [problems, setProblems] = useState(null);
  if (!live()) {
    return html`<${Dialog} title="Share"><p>This is a replay. The file itself is what you can hand on.</p></${Dialog}>`;
  }
  return html`<${Dialog} title="Share or save the scene">
    ${problems ? html`<${Faults} title="That did not work" problems=${problems} />` : null}
    <section aria-labelledby="share-link"><h3 id="share-link">As a link</h3><${Link} /></section>
    <section aria-labelledby="share-files"><h3 id="share-files">As a file</h3><${Saving} fail=${setProblems} /></section>
    <section aria-labelledby="share-open"><h3 id="share-open">Open one</h3><${Opening} fail=${setProblems} /></section>
  </${Dialog}>`;
}
