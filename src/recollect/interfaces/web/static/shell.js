// On every page: keys, the palette, the small form for a new memory, and dropped files.

const { ask, bindKeys, piece, singleKeys, toast } = await import(document.querySelector('script[src*="/base.js"]').src);

const FOUND_MS = 130; // after a key: search memories
const MOST_TEXT = 1_000_000; // characters, the server's limit for a text
const MOST_BYTES = 12 << 20; // of a JSONL file; a request may have 16 MiB
const MOST_FILES = 50;
const AT_ONCE = 500; // memories in a request

const mayWrite = document.body.hasAttribute("data-may-write");
const keys = document.querySelector("[data-keys]");
const single = keys.querySelector("[data-keys-on]");
single.checked = singleKeys.on;
single.addEventListener("change", () => { singleKeys.on = single.checked; });

bindKeys({
  "Control+k": (event) => !event.shiftKey && openPalette(),
  "?": () => keys.showModal(),
  "/": () => !document.querySelector("[data-box]") && location.assign("/"),
  ...(mayWrite && { n: () => openCapture(), u: () => [...document.querySelectorAll("[data-undo]")].at(-1).click() }),
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys-open]")) keys.showModal();
  if (event.target.closest("[data-palette-open]")) openPalette();
  if (!event.target.closest("[data-capture-open]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openCapture();
});

function dialog(name, label) {
  const made = document.createElement("dialog");
  made.className = name;
  made.setAttribute(label.startsWith("#") ? "aria-labelledby" : "aria-label", label.replace("#", ""));
  made.addEventListener("click", (event) => {
    if (event.target === made || event.target.closest("[data-close]")) made.close();
  });
  document.body.append(made);
  return made;
}

// The palette

let palette = null;
let everything = "";
let foundTimer = 0;
let turn = 0;

async function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  palette ??= build();
  palette.querySelector("input").value = "";
  palette.showModal();
  try {
    everything = await piece("/palette");
  } catch (error) {
    everything = "";
    palette.close();
    toast(error.message, { bad: true });
  }
  fill("");
}

function build() {
  const made = dialog("palette", "Search and commands");
  made.innerHTML = '<input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-label="Search, go to a page, or run a command" placeholder="Search, or go to…" autocomplete="off" spellcheck="false" autofocus><div id="palette-list" class="palette-list" role="listbox" aria-label="Results"></div>';
  const box = made.querySelector("input");
  box.addEventListener("input", () => { fill(box.value.trim()); later(box.value.trim()); });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) select(options().indexOf(selected()) + step);
    else if (event.key === "Enter" && !event.isComposing) follow(selected(), event.ctrlKey || event.metaKey);
    else return;
    event.preventDefault();
  });
  made.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) follow(option, event.ctrlKey || event.metaKey);
  });
  return made;
}

const options = () => [...palette.querySelectorAll("[role=option]:not([hidden])")];
const selected = () => palette.querySelector("[aria-selected=true]");

function fill(text) {
  const list = palette.querySelector("[role=listbox]");
  list.innerHTML = everything;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const option of list.querySelectorAll("[role=option]")) {
    const name = `${option.textContent} ${option.dataset.words}`.toLowerCase();
    option.hidden = !words.every((word) => name.includes(word));
  }
  if (text) {
    const first = document.createElement("div");
    first.setAttribute("role", "option");
    first.className = "palette-option";
    first.dataset.href = `/?${new URLSearchParams({ q: text })}`;
    first.textContent = `Search for “${text}”`;
    list.append(first);
  }
  settle();
}

function settle() {
  for (const group of palette.querySelectorAll("[data-palette-group]")) group.hidden = !group.querySelector("[role=option]:not([hidden])");
  options().forEach((option, number) => { option.id = `palette-${number}`; });
  select(0);
}

function select(place) {
  const all = options();
  const chosen = all[(place + all.length) % all.length];
  for (const option of all) option.setAttribute("aria-selected", String(option === chosen));
  palette.querySelector("input").setAttribute("aria-activedescendant", chosen?.id ?? "");
  chosen?.scrollIntoView({ block: "nearest" });
}

function later(text) {
  clearTimeout(foundTimer);
  const mine = ++turn;
  if (text.length < 2) return;
  foundTimer = setTimeout(async () => {
    const html = await piece(`/palette/found?${new URLSearchParams({ q: text })}`).catch(() => "");
    if (mine !== turn || html.includes("data-problem")) return;
    const chosen = selected()?.dataset.href;
    palette.querySelector("[role=listbox]").insertAdjacentHTML("beforeend", html);
    settle();
    select(Math.max(0, options().findIndex((option) => option.dataset.href === chosen)));
  }, FOUND_MS);
}

function follow(option, aside) {
  if (!option) return;
  palette.close();
  const href = option.dataset.href;
  if (href === "/new" && !aside) openCapture();
  else if (aside) open(href, "_blank", "noopener");
  else location.assign(href);
}

// The form for a new memory

let capture = null;

async function openCapture(fields = {}) {
  if (document.querySelector("dialog[open]")) return;
  try {
    capture ??= await captureDialog();
  } catch (error) {
    toast(error.message, { bad: true });
    return;
  }
  const form = capture.querySelector("form");
  const project = decodeURIComponent(location.pathname.match(/^\/project\/(.+)/)?.[1] ?? "") || new URLSearchParams(location.search).get("project");
  for (const [name, value] of Object.entries({ project: project ?? "", ...fields })) {
    if (value && !form.elements[name].value) form.elements[name].value = value;
  }
  form.querySelector("[data-capture-source]").hidden = !form.elements.source.value;
  capture.showModal();
  form.elements.text.focus();
}

async function captureDialog() {
  const html = await piece("/palette/capture");
  const made = dialog("capture", "#capture-title");
  made.innerHTML = html;
  const form = made.querySelector("form");
  form.addEventListener("submit", (event) => {
    // For all fields, or for the first memory, the browser submits the form.
    if (event.submitter?.name === "more" || document.querySelector(".first-steps")) return;
    event.preventDefault();
    save(form);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  return made;
}

async function save(form) {
  const problem = form.querySelector("[data-capture-problem]");
  problem.hidden = true;
  try {
    const { said, to, undo } = await ask("/new", { method: "POST", body: new URLSearchParams(new FormData(form)) });
    form.reset();
    capture.close();
    toast(said, { action: { label: "Open", run: () => location.assign(to) }, undo });
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }
}

const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
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
    take([...event.dataTransfer.files]);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-choose-files]")) take([...event.target.files]);
  });
}

// Dropped files: one text fills the form; several, or JSON Lines, are saved after confirmation.

async function take(files) {
  try {
    if (files.length > MOST_FILES) throw new Error(`You can drop at most ${MOST_FILES} files. For a folder run: recollect add FOLDER`);
    const drafts = (await Promise.all(files.map(read))).flat();
    if (drafts.length === 1 && !files[0].name.endsWith(".jsonl")) await openCapture(drafts[0]);
    else confirmAll(drafts, files);
  } catch (error) {
    toast(error.message, { bad: true });
  }
}

async function read(file) {
  const lines = /\.(jsonl|ndjson)$/i.test(file.name);
  if (!lines && !/^text\/|^$/.test(file.type) && !/\.(md|markdown|txt|text|org|rst)$/i.test(file.name)) throw new Error(`${file.name} is no text; drop text, Markdown or JSON Lines.`);
  if (file.size > MOST_BYTES) throw new Error(`${file.name} has ${(file.size / (1 << 20)).toFixed(1)} MiB; the page takes up to ${MOST_BYTES >> 20}. Use: recollect import ${file.name}`);
  const text = new TextDecoder("utf-8", { fatal: true });
  let whole;
  try {
    whole = text.decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not UTF-8 text.`);
  }
  if (lines) return whole.split("\n").map((line, number) => parsed(line, number + 1, file.name)).filter(Boolean);
  if (whole.length > MOST_TEXT) throw new Error(`${file.name} has ${whole.length.toLocaleString("en")} characters; a memory has up to ${MOST_TEXT.toLocaleString("en")}. Use: recollect add FOLDER`);
  if (!whole.trim()) throw new Error(`${file.name} is empty.`);
  const title = whole.match(/^#\s+(.+)$/m)?.[1] ?? file.name.replace(/\.\w+$/, "");
  return [{ title: title.trim(), text: whole, source: file.name }];
}

function parsed(line, number, name) {
  if (!line.trim()) return null;
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`${name}, line ${number}, is not JSON. Nothing was saved.`);
  }
}

function confirmAll(drafts, files) {
  if (!drafts.length) throw new Error(`${files[0].name} contains no memories.`);
  const made = dialog("confirm", "#confirm-title");
  made.innerHTML = '<form method="dialog" class="stack"><h2 id="confirm-title"></h2><p class="muted" data-names></p><div class="row"><button value="save" autofocus>Save</button> <button class="plain" value="">Cancel</button></div></form>';
  made.querySelector("h2").textContent = `Save ${drafts.length === 1 ? "1 memory" : `${drafts.length} memories`}?`;
  made.querySelector("[data-names]").textContent = files.map((file) => file.name).slice(0, 8).join(", ");
  made.addEventListener("close", async () => {
    if (made.returnValue === "save") await saveAll(drafts).catch((error) => toast(error.message, { bad: true }));
    made.remove();
  });
  made.showModal();
}

async function saveAll(drafts) {
  for (let first = 0; first < drafts.length; first += AT_ONCE) {
    try {
      await ask("/api/v1/memories", { method: "POST", body: drafts.slice(first, first + AT_ONCE) });
    } catch (error) {
      throw new Error(first ? `${error.message} The first ${first} are saved.` : `${error.message} Nothing was saved.`);
    }
  }
  toast(`Saved ${drafts.length === 1 ? "1 memory" : `${drafts.length} memories`}.`, { action: { label: "Browse", run: () => location.assign("/browse") } });
}
