// Results while typing. The server renders them; this decides when to ask, and handles the keys.
//
// During typing, the page asks for quick answers without reranking. After a pause it asks for the whole
// answer, and results glide to their new rank. If the focus is already in the results, a button offers the
// new order instead.

// Imported by the same address as in the page, so that it is the same module.
const { ask, bindKeys, changeInPlace, moveThrough, piece, toast } = await import(document.querySelector('script[src*="/base.js"]').src);

const QUICK_MS = 120; // after a key: a quick answer
const LONGEST_MS = 300; // after the first key: a quick answer, even if more keys follow
const WHOLE_MS = 350; // after a key: the whole answer
const SETTLED_MS = 1500; // after a key: the query becomes an entry of the history

const form = document.querySelector("[data-ask]");
const box = form.querySelector("[data-box]");
const recipe = form.querySelector("[data-recipe]");
const asOf = form.querySelector("[data-as-of-field]");
const found = document.querySelector("[data-found]");
const status = document.querySelector("[data-said]");
const away = document.querySelector("[data-away]");
const still = matchMedia("(prefers-reduced-motion: reduce)");

let asked = new URLSearchParams(location.search); // the address
let settled = true; // the next key begins a new entry of the history
let turn = 0; // the newest request; older answers are dropped
let request = null;
let timers = [];
let unasked = 0; // time of the first key since the last request
let paused = false; // no key for a while
let failed = null;

// The address

function wanted() {
  const next = new URLSearchParams(asked);
  const text = box.value.trim();
  if (text) next.set("q", box.value); else next.delete("q");
  if (recipe.value === recipe.dataset.default) next.delete("recipe"); else next.set("recipe", recipe.value);
  return next;
}

function pathOf(parameters) {
  return parameters.size ? `/?${parameters}` : "/";
}

function go(parameters, { push }) {
  asked = parameters;
  asOf.value = parameters.get("as_of") ?? ""; // empty for what is not a date
  if (pathOf(parameters) !== location.pathname + location.search) {
    history[push ? "pushState" : "replaceState"](null, "", pathOf(parameters));
  }
  const text = parameters.get("q")?.trim();
  document.title = text ? `${text} · Recollect` : "Recollect";
}

// Asking

async function load({ quick = false, keepPlace = false } = {}) {
  const mine = ++turn;
  unasked = 0;
  request?.abort();
  request = new AbortController();
  const parameters = new URLSearchParams(asked);
  if (quick) parameters.set("quick", "1");
  document.documentElement.toggleAttribute("data-busy", true);
  found.setAttribute("aria-busy", "true");
  try {
    const html = await piece(`/results?${parameters}`, { signal: request.signal });
    if (mine !== turn) return;
    show(html, { keepPlace });
    tell(null);
    if (quick && paused && found.querySelector("[data-pending]")) return load();
  } catch (error) {
    if (error.name === "AbortError" || mine !== turn) return;
    failed = { quick: false, keepPlace };
    tell(error.message);
  }
  document.documentElement.removeAttribute("data-busy");
  found.removeAttribute("aria-busy");
}

function tell(problem) {
  away.hidden = !problem;
  away.querySelector("[data-away-why]").textContent = problem ? `${problem} What is shown is what was found before.` : "";
}

function later(run, ms) {
  timers.push(setTimeout(run, ms));
}

function forgetTimers() {
  timers.forEach(clearTimeout);
  timers = [];
}

function typed() {
  forgetTimers();
  const next = wanted();
  next.delete("limit");
  next.delete("ignore"); // they belong to the old query
  go(next, { push: settled });
  settled = false;
  unasked ||= Date.now();
  later(() => load({ quick: true }), Math.max(0, Math.min(QUICK_MS, unasked + LONGEST_MS - Date.now())));
  paused = false;
  later(() => {
    paused = true; // wait for a running quick answer
    const answered = !found.hasAttribute("aria-busy");
    if (answered && (!away.hidden || found.querySelector("[data-pending]"))) load();
  }, WHOLE_MS);
  later(() => { settled = true; }, SETTLED_MS);
}

function search(parameters, { push = true, keepPlace = false } = {}) {
  forgetTimers();
  go(parameters, { push: push && settled });
  settled = true;
  return load({ keepPlace });
}

// Showing

function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.querySelector("[data-answer]") ?? template.content.querySelector("[data-problem]");
}

function show(html, { keepPlace }) {
  const next = parsed(html);
  if (!next) throw new Error("The server's answer has no results.");
  const before = found.querySelector("[data-answer]");
  if (before?.hasAttribute("data-pending") && sameQuestion(before, next) && busyInList() && reordered(before, next)) {
    offer(before, next);
    return;
  }
  swap(next, keepPlace);
}

function sameQuestion(before, next) {
  return before.dataset.asked === next.dataset.asked;
}

function busyInList() {
  const list = found.querySelector("[data-results]");
  return Boolean(list && (list.contains(document.activeElement) || list.querySelector("[data-why][open]")));
}

const idsIn = (root) => [...root.querySelectorAll("[data-result]")].map((one) => one.dataset.result);

function reordered(before, next) {
  const old = idsIn(before);
  return idsIn(next).some((id, place) => id !== old[place]);
}

// Do not change the order while the focus is in the list; offer a button.
function offer(before, next) {
  const line = before.querySelector("[data-reranking]");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain small";
  button.dataset.reorder = "";
  button.textContent = "Show it";
  button.addEventListener("click", () => swap(next, true));
  before.removeAttribute("data-pending");
  line?.classList.remove("reading");
  line?.replaceChildren("The reranked order is ready. ", button);
}

function swap(next, keepPlace) {
  const places = new Map([...found.querySelectorAll("[data-result]")].map((one) => [one.dataset.result, one.getBoundingClientRect().top]));
  const open = new Set([...found.querySelectorAll("details[data-keep][open]")].map((one) => one.dataset.keep));
  const focus = focused();
  const before = idsIn(found);
  const top = scrollY;
  found.replaceChildren(next);
  for (const one of found.querySelectorAll("details[data-keep]")) one.open = open.has(one.dataset.keep);
  if (keepPlace) scrollTo({ top, behavior: "instant" });
  const stays = (id) => idsIn(found).includes(id) ? id : idsIn(found)[Math.min(before.indexOf(id), idsIn(found).length - 1)];
  refocus(focus, stays);
  glide(places);
  announce();
  choose(keepPlace ? stays(chosen) : "");
}

function focused() {
  const here = document.activeElement;
  if (!found.contains(here)) return null;
  return { chip: here.dataset.chip, result: here.closest("[data-result]")?.dataset.result };
}

// Restore the focus; if the result is gone, use the one at its rank.
function refocus(focus, stays) {
  if (!focus) return;
  const all = (name) => [...found.querySelectorAll(`[data-${name}]`)];
  const chip = focus.chip && all("chip").find((one) => one.dataset.chip === focus.chip);
  const result = all("result").find((one) => one.dataset.result === stays(focus.result))?.querySelector("[data-open]");
  (chip || result || box).focus({ preventScroll: true });
}

function glide(places) {
  if (still.matches) return;
  for (const one of found.querySelectorAll("[data-result]")) {
    const moved = places.get(one.dataset.result) - one.getBoundingClientRect().top;
    if (moved && Math.abs(moved) < 2 * innerHeight) {
      one.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], { duration: 180, easing: "ease-out" });
    }
  }
}

// One announcement for screen readers, not for every key.
function announce() {
  const parts = [found.querySelector("[data-count]"), found.querySelector("[data-evidence]"), found.querySelector("[data-problem] p")];
  const text = parts.filter(Boolean).map((one) => one.textContent.trim()).join(", ");
  if (!found.querySelector("[data-pending]")) status.textContent = text;
}

// Events

box.addEventListener("input", typed);
asOf.addEventListener("change", () => {
  const next = wanted();
  if (asOf.value) next.set("as_of", asOf.value); else next.delete("as_of");
  search(next);
});
recipe.addEventListener("change", () => {
  const next = wanted();
  next.delete("deep");
  next.delete("limit");
  search(next);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  search(wanted());
});
away.querySelector("[data-retry]").addEventListener("click", () => load(failed ?? {}));

addEventListener("popstate", () => {
  forgetTimers();
  asked = new URLSearchParams(location.search);
  box.value = asked.get("q") ?? "";
  recipe.value = asked.get("recipe") ?? recipe.dataset.default;
  settled = true;
  go(asked, { push: false });
  load();
});

found.addEventListener("click", (event) => {
  const chip = event.target.closest("a[data-chip]");
  if (chip && !event.metaKey && !event.ctrlKey && !event.shiftKey && event.button === 0) {
    event.preventDefault();
    follow(chip);
  }
});

function follow(chip) {
  const next = new URL(chip.href).searchParams;
  if ("example" in chip.dataset) box.value = next.get("q") ?? "";
  else if (box.value.trim()) next.set("q", box.value);
  settled = true;
  search(next, { keepPlace: "more" in chip.dataset });
}

found.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-judge]")) return;
  event.preventDefault();
  decide(event.target, event.submitter);
});

async function decide(form, pressed) {
  const feedback = pressed.name === "undo" ? { undo: true } : { accepted: pressed.name === "right" };
  const body = { query: form.elements.query.value, id: pressed.value, recipe: recipe.value, ...feedback };
  try {
    const answer = await ask("/api/v1/feedback", { method: "POST", body });
    for (const button of pressed.parentElement.querySelectorAll("[form=judge]")) {
      if (button.name === "undo") button.hidden = Boolean(feedback.undo);
      else button.setAttribute("aria-pressed", String(button === pressed));
    }
    toast(outcome(answer, pressed.name));
  } catch (error) {
    toast(error.message, { bad: true });
  }
}

const NOTED = { right: "Saved as right.", wrong: "Saved as wrong.", undo: "Feedback removed." };

function outcome({ accepted, dismissed, weights }, name) {
  const moved = Object.entries(weights ?? {}).filter(([, one]) => Math.abs(one.now - one.declared) >= 0.0005);
  const learned = moved.map(([name, one]) => `${name} ${one.declared.toFixed(3)} → ${one.now.toFixed(3)}`).join(", ");
  const counts = `In all, ${accepted} right and ${dismissed} wrong.`;
  return `${NOTED[name]} ${counts}${learned ? ` Weights: ${learned}.` : ""}`;
}

// The preview next to the list

const READ_MS = 90; // after a move, so that moving quickly loads nothing
const preview = document.querySelector("[data-preview]");
const beside = matchMedia("(min-width: 75rem)");
let chosen = ""; // the id of the result in the preview
let reading = null;

const rows = () => [...found.querySelectorAll("[data-result]")].filter((row) => row.checkVisibility()); // some are hidden

// Show this result in the preview; by default the first.
function choose(id) {
  const all = rows();
  const row = all.find((one) => one.dataset.result === id) ?? all[0];
  for (const one of all) one.toggleAttribute("data-chosen", one === row);
  const before = chosen;
  chosen = row?.dataset.result ?? "";
  if (!row) preview.replaceChildren();
  else if (beside.matches && (chosen !== before || !preview.firstChild)) read(row, before ? READ_MS : 0);
}

function stopReading() {
  clearTimeout(reading?.timer);
  reading?.request.abort();
}

function read(row, ms) {
  stopReading();
  const mine = (reading = { request: new AbortController() });
  mine.timer = setTimeout(async () => {
    const { pathname, search } = new URL(row.querySelector("[data-open]").href);
    try {
      const html = await piece(pathname.replace("/memory/", "/preview/") + search, { signal: mine.request.signal });
      if (mine !== reading) return;
      preview.innerHTML = html;
      preview.scrollTop = 0;
    } catch (error) {
      if (error.name === "AbortError" || mine !== reading) return;
      preview.textContent = error.message;
    }
  }, ms);
}

beside.addEventListener("change", () => choose(chosen));
found.addEventListener("toggle", (event) => { if (event.target.matches("[data-nearest]")) choose(""); }, true);
found.addEventListener("focusin", (event) => {
  const row = event.target.closest("[data-result]");
  if (row) choose(row.dataset.result);
});
found.addEventListener("click", (event) => {
  const row = event.target.closest("[data-result]");
  if (row && !event.target.closest("a, button, summary, details")) choose(row.dataset.result);
});

// Changes of a memory, in the list or the preview.
document.addEventListener("submit", stopReading, true); // it may be forgotten
changeInPlace(async (form) => {
  const before = idsIn(found);
  preview.replaceChildren(); // reload the preview
  await load({ keepPlace: true });
  const back = rows().find((row) => !before.includes(row.dataset.result));
  if (form.matches("[action='/undo']")) back?.querySelector("[data-open]").focus();
});

// Keys

const links = () => rows().map((row) => row.querySelector("[data-open]"));
const here = () => document.activeElement.closest("[data-result]");
const click = (what) => () => {
  const button = here()?.querySelector(what);
  button?.click();
  return Boolean(button);
};

function move(step) {
  here()?.querySelector("[data-open]").focus();
  moveThrough(links(), step, box);
}

function escape() {
  forgetTimers();
  if (document.activeElement !== box) box.focus();
  else if (box.value) { box.value = ""; typed(); }
  else box.blur(); // so that single-letter keys work
}

const arrow = (step) => ({ target }) => (target === box || found.contains(target)) && move(step);

bindKeys({
  Escape: escape,
  ArrowDown: arrow(1),
  ArrowUp: arrow(-1),
  " ": ({ target }) => target.matches("a[role=button]") && target.click(),
  "/": () => { box.focus(); box.select(); },
  j: () => move(1),
  k: () => move(-1),
  w: click("[data-why] > summary"),
  a: click("[form=judge][name=right]"),
  d: click("[form=judge][name=wrong]"),
  e: click("[data-edit]"),
  p: click("[data-pin]"),
  x: click("[data-forget]"),
});

found.addEventListener("recollect:listed", () => choose(chosen));
choose("");
// Letters typed before this script was loaded.
if (box.value.trim() !== (asked.get("q") ?? "").trim()) typed();
