// The keys of every page. What they open is loaded when it is first wanted.

const shell = () => import(document.body.dataset.shell);
const typing = (target) => target.closest?.("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]");
const mayWrite = document.body.hasAttribute("data-may-write");
const openPalette = () => shell().then((loaded) => loaded.openPalette());
const openCapture = () => shell().then((loaded) => loaded.openCapture());

const keys = document.querySelector("[data-keys]");
const on = keys.querySelector("[data-keys-on]");
on.checked = localStorage.getItem("letters") !== "off";
on.addEventListener("change", () => localStorage.setItem("letters", on.checked ? "on" : "off"));

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented || event.altKey || document.querySelector("dialog[open]")) return;
  const control = event.ctrlKey || event.metaKey;
  if (control && !event.shiftKey && event.key.toLowerCase() === "k") openPalette();
  else if (control || typing(event.target) || localStorage.getItem("letters") === "off") return;
  else if (event.key === "?") keys.showModal();
  else if (event.key === "n" && mayWrite) openCapture();
  else if (event.key === "/" && !document.querySelector("[data-box]")) location.assign("/");
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys-open]")) keys.showModal();
  if (event.target.closest("[data-palette-open]")) openPalette();
  if (!event.target.closest("[data-capture-open]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openCapture();
});

// Files

const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
const take = (files) => shell().then((loaded) => loaded.take([...files]));
const dropping = (yes) => document.documentElement.toggleAttribute("data-dropping", yes);

if (mayWrite) {
  addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    dropping(true);
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) dropping(false); });
  addEventListener("drop", (event) => {
    dropping(false);
    if (!holdsFiles(event)) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-choose-files]")) take(event.target.files);
  });
}
