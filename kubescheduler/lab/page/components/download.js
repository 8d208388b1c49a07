// Hands a text to the person as a file, or to the clipboard.

export function download(name, mediaType, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: mediaType }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Whether the text is now on the clipboard; where that is not permitted the page shows it to be copied by hand.
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
