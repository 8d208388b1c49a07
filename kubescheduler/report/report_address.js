
"use strict";
// The choices of the reader in the page's address, behind its #: reloading, sharing and going back keep them.
const Address = (() => {
  // What the address names, as a Map; without a = it names a place in the page, and no choice.
  function read() {
    const text = location.hash.slice(1);
    return new Map(text.includes("=") ? new URLSearchParams(text) : []);
  }

  // fields: name → text, or null for what is as it is at first.
  const said = (fields) => new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== null)).toString();

  const has = (fields) => said(fields) === new URLSearchParams([...read()]).toString();

  // push: as a step that the back button undoes.
  function write(fields, push) {
    if (has(fields)) return;
    const choices = said(fields), address = location.href.split("#")[0] + (choices ? `#${choices}` : "");
    if (push) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  return {has, read, write};
})();
