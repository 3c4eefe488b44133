// The lab: sliders that rerank at once, rows that move to their new rank, lines between the lists.

// Imported by the same address as in the page, so that it is the same module.
const { ask, piece, toast } = await import(document.querySelector('script[src*="/base.js"]').src);

const form = document.querySelector("[data-lab]");
const body = form.querySelector("[data-body]");
const summary = form.querySelector("[data-summary]");
const NAMES = ["left", "right"];
const PASSING = /^(left|right)\.(of|as|replace|name)$/;
const CALM = matchMedia("(prefers-reduced-motion: reduce)");
const PAUSE = 50; // milliseconds between two requests of one side
const TYPED = 250; // after the last letter of the query or a filter
const SETTLED = 250; // after the last answer: load the part below and announce the result

const state = { left: fresh(), right: fresh(), open: "", from: "", diff: false, query: "", head: [], shown: "left", groups: new Map() };

function fresh() {
  return { running: false, wanted: false, asked: false, announced: [] };
}

const all = (selector, within = body) => [...within.querySelectorAll(selector)];
const sideOf = (name) => body.querySelector(`[data-side="${name}"]`);
const rowsOf = (name) => all(`[data-side="${name}"] [data-row]`);
const recipeOf = (name) => body.querySelector(`[data-recipe][name="${name}"]`).value;
const panelOf = (name) => body.querySelector(`[data-constants="${name}"]`);
const declared = (input) => input.dataset.was ?? input.defaultValue;
const isChanged = (input) => input.value !== "" && Number(input.value) !== Number(declared(input));
const constant = (input) => input.name.replace(/^\w+\.set\./, "");

const make = (tag, fields) => Object.assign(document.createElement(tag), fields);

// The address

function pairsOf(elements) {
  return elements
    .filter((one) => one.name && one.value !== "" && !one.disabled && one.type !== "submit" && !PASSING.test(one.name))
    .filter((one) => !one.dataset.range || isChanged(one))
    .map((one) => [one.name, one.value]);
}

function parameters() {
  const pairs = new URLSearchParams([...state.head, ...pairsOf(all("input, select"))]);
  if (state.open) pairs.set("open", state.open);
  if (state.diff) pairs.set("diff", "1");
  return pairs;
}

function write({ push = false } = {}) {
  history[push ? "pushState" : "replaceState"](null, "", `/lab?${parameters()}`);
}

// The fields above the lists take effect after a pause in typing.
function commit() {
  state.head = pairsOf(all("input", form.querySelector(".lab-head")));
  state.query = form.elements.q.value;
}

// Requests: at most one per side at a time; then the latest state is requested.

function rerank(name) {
  state[name].asked = true;
  write();
  refresh(name);
}

function refresh(name) {
  state[name].wanted = true;
  if (!state[name].running) run(name, state[name]);
}

async function run(name, side) {
  side.running = true;
  while (side.wanted && side === state[name]) {
    side.wanted = false;
    const began = performance.now();
    const slow = setTimeout(() => sideOf(name)?.setAttribute("aria-busy", "true"), 300);
    let reply = null, problem = "";
    try {
      reply = parsed(await piece(`/lab/results?only=${name}&${parameters()}`));
      problem = reply.querySelector("[data-problem]")?.textContent ?? "";
    } catch (error) {
      problem = error.message;
    }
    clearTimeout(slow);
    if (side !== state[name]) return; // the whole page was requested in the meantime
    sideOf(name).removeAttribute("aria-busy");
    show(name, reply, problem);
    await new Promise((resume) => setTimeout(resume, Math.max(0, PAUSE - (performance.now() - began))));
  }
  side.running = false;
  settle();
}

async function reload({ push = true, focus = "" } = {}) {
  state.left = fresh();
  state.right = fresh();
  const mine = state.left;
  body.setAttribute("aria-busy", "true");
  try {
    const reply = parsed(await piece(`/lab/results?${parameters()}`));
    if (mine !== state.left) return true; // requested again in the meantime
    if (reply.querySelector("[data-problem]") && !reply.querySelector("[data-bench]")) {
      toast(reply.querySelector("[data-problem]").textContent, { bad: true });
      return false;
    }
    body.replaceChildren(reply);
    dress();
    write({ push });
    document.title = [state.query.trim(), "Lab", "Recollect"].filter(Boolean).join(" · ");
    if (focus) body.querySelector(focus)?.focus();
    summary.textContent = NAMES.map(result).filter(Boolean).join("; ");
    return true;
  } catch (error) {
    toast(error.message, { bad: true });
    return false;
  } finally {
    body.removeAttribute("aria-busy");
  }
}

function parsed(html) {
  return make("template", { innerHTML: html }).content; // the server escapes every text in it
}

// Showing

function show(name, reply, problem) {
  const side = sideOf(name);
  const alert = side.querySelector("[data-alert]");
  side.classList.toggle("stale", problem !== "");
  alert.replaceChildren();
  if (problem && side.querySelector("[data-list]")) {
    const box = make("p", { className: "notice bad", role: "alert", textContent: `${problem} The list is the one from before.` });
    box.dataset.problem = "";
    return alert.append(box);
  }
  if (!reply?.querySelector("[data-results]")) return toast(problem, { bad: true });
  const places = new Map(rowsOf(name).map((row) => [row.dataset.id, row.getBoundingClientRect().top]));
  const restore = holding(side);
  for (const part of ["results", "toml", "learned"]) {
    side.querySelector(`[data-${part}]`)?.replaceWith(reply.querySelector(`[data-${part}]`));
  }
  restore?.();
  label();
  glide(name, places);
}

// Keep the focus: on the same button of the same memory, else on the memory, else on the one at its rank.
function holding(side) {
  const active = document.activeElement;
  const row = active?.closest?.("[data-row]");
  if (!row || !side.contains(row)) return null;
  const what = ["data-why", "data-title", "data-vote"].find((one) => active.hasAttribute(one));
  const value = active.getAttribute(what);
  const place = all("[data-row]", side).indexOf(row);
  return () => {
    const rows = all("[data-row]", side);
    const again = rows.find((one) => one.dataset.id === row.dataset.id);
    const near = again ?? rows[place] ?? rows.at(-1);
    const kept = again?.querySelector(`[${what}="${value}"]`) ?? near?.querySelector("[data-title]");
    kept?.focus({ preventScroll: true });
  };
}

function label() {
  const ranks = {};
  for (const name of NAMES) {
    const more = JSON.parse(sideOf(name)?.querySelector("[data-more]")?.dataset.more ?? "[]");
    const ids = [...rowsOf(name).map((row) => row.dataset.id), ...more];
    ranks[name] = new Map(ids.map((id, place) => [id, place + 1]));
  }
  const both = NAMES.every((name) => sideOf(name)?.querySelector("[data-results] .facts"));
  for (const row of all("[data-row]")) {
    const [left, right] = NAMES.map((name) => ranks[name].get(row.dataset.id));
    if (both) tag(row.querySelector("[data-move]"), left, right);
    const chosen = row.dataset.id === state.open;
    row.classList.toggle("chosen", chosen);
    row.querySelector("[data-why]").setAttribute("aria-expanded", chosen);
  }
}

// The same text as the template's `moved`.
function tag(box, left, right) {
  const by = left - right;
  const [kind, text, more] =
    !left || !right ? ["alone", "only here", ""]
    : by === 0 ? ["same", "=", " same rank on both sides"]
    : [by > 0 ? "up" : "down", `${by > 0 ? "+" : "−"}${Math.abs(by)}`, ` from left to right: rank ${left} becomes ${right}`];
  box.className = `move ${kind}`;
  box.textContent = text;
  delete box.dataset.ranks;
  if (by) box.dataset.ranks = `${left} → ${right}`;
  if (more) box.append(make("span", { className: "hidden-visually", textContent: more }));
}

function glide(name, places) {
  if (CALM.matches) return draw();
  for (const row of rowsOf(name)) {
    const before = places.get(row.dataset.id);
    const by = before === undefined ? 0 : before - row.getBoundingClientRect().top;
    if (by) row.animate({ transform: [`translateY(${by}px)`, "none"] }, { duration: 220, easing: "ease-out" });
    if (before === undefined) row.animate({ opacity: [0, 1] }, { duration: 220 });
  }
  const until = performance.now() + 260;
  const frame = () => {
    draw();
    if (performance.now() < until) requestAnimationFrame(frame);
  };
  frame();
}

function draw() {
  const canvas = body.querySelector("[data-lines]");
  const area = canvas?.getBoundingClientRect();
  if (!area?.width) return;
  const ends = {};
  for (const name of NAMES) {
    ends[name] = new Map(rowsOf(name).map((row) => {
      const box = row.getBoundingClientRect();
      return [row.dataset.id, { y: box.top + Math.min(box.height / 2, 24) - area.top, kind: row.querySelector("[data-move]").classList[1] }];
    }));
  }
  const lit = body.querySelector(".hit.lit")?.dataset.id;
  const lines = [];
  for (const id of new Set([...ends.left.keys(), ...ends.right.keys()])) {
    const left = ends.left.get(id), right = ends.right.get(id), far = area.width;
    const way = left && right ? `M0 ${left.y}C${far / 2} ${left.y} ${far / 2} ${right.y} ${far} ${right.y}`
      : left ? `M0 ${left.y}h${far / 5}` : `M${far} ${right.y}h${-far / 5}`;
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("d", way);
    line.setAttribute("class", `${(left ?? right).kind ?? "same"}${id === lit ? " lit" : ""}`);
    line.dataset.id = id;
    lines.push(line);
  }
  canvas.replaceChildren(...lines.sort((a, b) => a.classList.contains("lit") - b.classList.contains("lit")));
}

function light(id) {
  if (id === (body.querySelector(".hit.lit")?.dataset.id ?? null)) return;
  for (const row of all("[data-row]")) row.classList.toggle("lit", row.dataset.id === id);
  draw();
}

// The announcement for screen readers, after the last change

let settling = 0;

function settle() {
  clearTimeout(settling);
  settling = setTimeout(() => {
    if (state.left.running || state.right.running) return;
    tell();
    below();
    score();
  }, SETTLED);
}

function tell() {
  const parts = NAMES.map((name) => {
    const rows = rowsOf(name), ids = rows.map((row) => row.dataset.id), before = state[name].announced;
    state[name].announced = ids;
    const asked = state[name].asked;
    state[name].asked = false;
    if (!asked || !rows.length || sideOf(name).classList.contains("stale")) return "";
    const moved = ids.filter((id, place) => before[place] !== id).length;
    if (!moved) return `${recipeOf(name)}: nothing moved`;
    const first = ids[0] === before[0] ? "first place stays" : `first place now ${rows[0].querySelector("[data-title]").textContent}`;
    return `${recipeOf(name)}: ${moved} moved, ${first}`;
  }).filter(Boolean);
  if (parts.length) summary.textContent = `${parts.join("; ")}.`;
}

// `blend: 10 results in 18 ms`
function result(name) {
  const facts = sideOf(name).querySelector(".facts, [data-problem]")?.textContent;
  return facts ? `${recipeOf(name)}: ${facts.trim()}` : "";
}

let lower = null;

async function below() {
  lower?.abort();
  lower = new AbortController();
  const place = body.querySelector("[data-below]");
  if (!place) return;
  const opened = new Map(all("details", place).map((one) => [Object.keys(one.dataset)[0], one.open]));
  try {
    const reply = parsed(await piece(`/lab/results?only=below&${parameters()}`, { signal: lower.signal }));
    const made = reply.querySelector("[data-below]");
    if (!made || !place.isConnected) return;
    for (const one of all("details", made)) one.open = opened.get(Object.keys(one.dataset)[0]) ?? one.open;
    const active = place.contains(document.activeElement) ? document.activeElement.closest("summary, [data-close]") : null;
    const which = active ? all("summary, [data-close]", place).indexOf(active) : -1;
    place.replaceWith(made);
    all("summary, [data-close]", made)[which]?.focus({ preventScroll: true });
  } catch (error) {
    if (error.name !== "AbortError") toast(error.message, { bad: true });
  }
}

// The scores on the user's own questions: a second of searches, so they are loaded last.

let scoring = null;

async function score() {
  scoring?.abort();
  scoring = new AbortController();
  try {
    const reply = parsed(await piece(`/lab/results?only=score&${parameters()}`, { signal: scoring.signal }));
    for (const own of all("[data-own]", reply)) {
      const before = body.querySelector(`[data-own="${own.dataset.own}"]`);
      const how = own.querySelector("details");
      if (how) how.open = Boolean(before?.querySelector("details[open]"));
      before?.replaceWith(own);
    }
  } catch (error) {
    if (error.name !== "AbortError") toast(error.message, { bad: true });
  }
}

// The constants

function dress() {
  for (const name of NAMES) {
    const panel = panelOf(name);
    if (!panel) continue;
    for (const number of all("[data-range]", panel)) slider(name, number);
    for (const one of all("[data-find], [data-drop]", panel)) one.hidden = false;
    for (const group of all("[data-group]", panel)) {
      const key = `${name} ${recipeOf(name)} ${group.dataset.group}`;
      if (state.groups.has(key)) group.open = state.groups.get(key);
      group.addEventListener("toggle", () => {
        if (!panel.querySelector("[data-find]").value) state.groups.set(key, group.open);
      });
    }
    count(name);
    state[name].announced = rowsOf(name).map((row) => row.dataset.id);
  }
  for (const one of all(".replace")) one.hidden = true;
  for (const one of all("[data-tabs]")) one.hidden = false;
  tab(state.shown);
  label();
  draw();
  if (body.querySelector("[data-own]")) score();
  observer.disconnect();
  for (const one of all("[data-bench], [data-list]")) observer.observe(one);
}

const observer = new ResizeObserver(draw);

function slider(name, number) {
  const [low, high, step] = number.dataset.range.split(" ").map(Number);
  const back = declared(number), title = constant(number);
  const range = make("input", { type: "range", step, ariaLabel: title });
  const slide = make("span", { className: "slide" });
  const reset = make("button", { type: "button", className: "quiet reset", textContent: back, title: `Back to ${back}, as declared`, ariaLabel: `Reset ${title} to ${back}` });
  slide.append(range);
  number.parentElement.title = title;
  number.parentElement.after(slide, reset);
  const place = () => { // the number may be outside the slider's range
    range.min = Math.min(low, number.value);
    range.max = Math.max(high, number.value);
    range.value = number.value;
    slide.style.setProperty("--at", (back - range.min) / (range.max - range.min));
  };
  const set = (value) => {
    number.value = value;
    count(name);
    rerank(name);
  };
  place();
  range.addEventListener("input", () => set(range.value));
  number.addEventListener("place", place);
  number.addEventListener("input", () => {
    if (number.value === "" || !number.checkValidity()) return;
    place();
    set(number.value);
  });
  number.addEventListener("change", () => {
    if (number.value === "" && !number.validity.badInput) reset.click();
    else if (!number.checkValidity()) show(name, null, `${title}: ${number.validationMessage}`);
  });
  reset.addEventListener("click", () => {
    set(back);
    place();
    range.focus();
  });
}

// Mark and count the changes, in each group and in all.
function count(name) {
  const panel = panelOf(name);
  let total = all("[data-other]", panel).length;
  for (const group of all("[data-group]", panel)) {
    let changed = 0;
    for (const number of all("[data-range]", group)) {
      const box = number.closest(".constant"), here = isChanged(number);
      box.classList.toggle("changed", here);
      box.querySelector(".reset").hidden = !here;
      changed += here;
    }
    badge(group.querySelector("[data-group-changed]"), changed);
    total += changed;
  }
  badge(panel.querySelector("[data-total]"), total);
  panel.querySelector("[data-reset-all]").hidden = !total;
  const save = sideOf(name).querySelector("[data-save]"); // needs the capability
  if (!save) return;
  save.disabled = !total;
  save.title = total ? "" : "Change a constant first";
}

function badge(box, number) {
  box.hidden = !number;
  box.textContent = `${number} changed`;
}

function resetAll(name) {
  const panel = panelOf(name);
  for (const number of all("[data-range]", panel)) {
    number.value = declared(number);
    number.dispatchEvent(new Event("place"));
  }
  for (const one of all("[data-other]", panel)) one.remove();
  count(name);
  rerank(name);
  panel.querySelector("[data-find]").focus();
}

function find(panel, text) {
  const words = text.trim().toLowerCase().split(/\s+/);
  let any = false;
  for (const group of all("[data-group]", panel)) {
    let found = false;
    for (const number of all("[data-range]", group)) {
      const box = number.closest(".constant");
      box.hidden = !words.every((word) => constant(number).includes(word));
      found ||= !box.hidden;
    }
    group.hidden = !found;
    const key = `${panel.dataset.constants} ${recipeOf(panel.dataset.constants)} ${group.dataset.group}`;
    group.open = text ? found : state.groups.get(key) ?? group.dataset.group === "weights";
    any ||= found;
  }
  panel.querySelector("[data-none]").hidden = any;
}

function tab(name) {
  state.shown = name;
  const bench = body.querySelector("[data-bench]");
  if (bench) bench.dataset.shown = name;
  for (const one of all("[data-tab]")) one.setAttribute("aria-pressed", one.dataset.tab === name);
}

// Feedback and saving

// A dismissed result may leave both lists, so the message has an undo button.
async function vote(about, verdict) {
  const feedback = verdict === "undo" ? { undo: true } : { accepted: verdict === "accept" };
  try {
    const reply = await ask("/api/v1/feedback", { method: "POST", body: { ...about, ...feedback } });
    const done = feedback.undo ? "Taken back" : feedback.accepted ? "Accepted" : "Dismissed";
    const action = feedback.undo ? undefined : { label: "Undo", run: () => vote(about, "undo") };
    toast(`${done}. ${reply.accepted} accepted and ${reply.dismissed} dismissed so far.`, { action });
    for (const one of NAMES) {
      sideOf(one).querySelector("[data-feedback]")?.setAttribute("open", "");
      rerank(one);
    }
  } catch (error) {
    toast(error.message, { bad: true });
  }
}

async function unlearn(name) {
  try {
    await ask(`/api/v1/recipes/${encodeURIComponent(recipeOf(name))}/learned`, { method: "DELETE" });
    toast("The weights were reset.");
    for (const one of NAMES) rerank(one);
  } catch (error) {
    toast(error.message, { bad: true });
  }
}

async function save(name, replace = false) {
  const side = sideOf(name);
  const field = side.querySelector("[data-as]");
  const wanted = field.value.trim();
  const taken = [...side.querySelector("[data-recipe]").options].some((one) => one.value === wanted);
  if (!wanted) {
    saying(side, "Enter a name for the recipe first.");
    return field.focus();
  }
  if (wanted === recipeOf(name)) return saying(side, "A recipe cannot extend itself; choose another name.");
  if (taken && !replace) return saying(side, `A recipe named ${wanted} already exists.`, () => save(name, true));
  const set = {};
  for (const [key, value] of pairsOf(all("input", side.querySelector("[data-constants]")))) {
    set[key.slice(name.length + 5)] = Number.isNaN(Number(value)) ? value : Number(value);
  }
  try {
    const reply = await ask("/api/v1/recipes", { method: "POST", body: { name: wanted, extends: recipeOf(name), set, replace } });
    const select = side.querySelector("[data-recipe]");
    if (!taken) select.append(new Option(reply.name, reply.name));
    select.value = reply.name;
    quiet(side, true);
    if (await reload({ focus: `#${name}-recipe` })) toast(`Saved as ${reply.name}.`);
  } catch (error) {
    saying(side, error.message, /already/.test(error.message) ? () => save(name, true) : null);
  }
}

function saying(side, text, replace = null) {
  const box = side.querySelector("[data-save-said]");
  box.hidden = false;
  box.textContent = `${text} `;
  if (!replace) return;
  const button = make("button", { type: "button", className: "plain", textContent: "Replace it", onclick: replace });
  button.dataset.replaceIt = "";
  box.append(button);
}

// Drop the constants of a recipe that is no longer chosen.
function quiet(side, now) {
  for (const one of all("[data-constants] [name]", side)) one.disabled = now;
}

// Events

form.addEventListener("submit", async (event) => {
  const button = event.submitter;
  if (button?.dataset.plain !== undefined) return; // the browser loads the next page
  event.preventDefault();
  if (button?.dataset.vote) {
    const recipe = recipeOf(button.closest("[data-side]").dataset.side);
    return vote({ query: state.query, id: button.value, recipe }, button.dataset.vote);
  }
  if (button?.dataset.reset !== undefined) return unlearn(button.closest("[data-side]").dataset.side);
  if (button?.name === "open") return open(button.closest("[data-row]").dataset.id, button.closest("[data-side]").dataset.side);
  if (button?.dataset.save !== undefined) return save(button.value);
  apply();
});

async function apply({ push = true } = {}) {
  clearTimeout(state.typing);
  const before = [state.head, state.query, state.open];
  if (form.elements.q.value !== state.query) state.open = "";
  commit();
  if (!(await reload({ push }))) [state.head, state.query, state.open] = before;
}

form.addEventListener("change", async (event) => {
  if (!event.target.matches("[data-recipe]")) return;
  const side = event.target.closest("[data-side]");
  quiet(side, true);
  if (!(await reload({ focus: `#${event.target.id}` }))) quiet(side, false);
});

form.addEventListener("input", (event) => {
  if (event.target.matches("[data-find]")) find(event.target.closest("[data-constants]"), event.target.value);
  if (!event.target.closest(".lab-head")) return;
  clearTimeout(state.typing);
  state.typing = setTimeout(() => apply({ push: false }), TYPED);
});

form.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.open && event.target.closest("[data-compare], [data-row]")) close();
  if (event.key !== "Enter") return;
  if (event.target.matches("[data-as]")) {
    event.preventDefault();
    save(event.target.closest("[data-side]").dataset.side);
  } else if (event.target.matches("[data-name]")) {
    event.preventDefault();
    form.requestSubmit(event.target.parentElement.querySelector("button"));
  } else if (event.target.matches("[data-find], [data-range]")) {
    event.preventDefault(); // it has already taken effect
  }
});

form.addEventListener("click", (event) => {
  const at = (selector) => event.target.closest(selector);
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (at("[data-tab]")) tab(at("[data-tab]").dataset.tab);
  if (at("[data-reset-all]")) resetAll(at("[data-constants]").dataset.constants);
  if (at("[data-drop]")) {
    const name = at("[data-constants]").dataset.constants;
    at("[data-other]").remove();
    count(name);
    rerank(name);
  }
  if (at("[data-close]")) {
    event.preventDefault();
    close();
  }
});

function open(id, from) {
  if (id === state.open) return close();
  state.open = id;
  state.from = from;
  write({ push: true });
  for (const name of NAMES) refresh(name);
}

function close() {
  const id = state.open;
  state.open = "";
  write({ push: true });
  label();
  for (const one of all("[data-why-here], [data-compare]")) one.remove();
  const row = [state.from || state.shown, ...NAMES].flatMap(rowsOf).find((one) => one.dataset.id === id);
  row?.querySelector("[data-why]").focus();
}

form.addEventListener("toggle", (event) => {
  if (!event.target.matches("[data-differences]") || event.target.open === state.diff) return;
  state.diff = event.target.open;
  write();
  if (state.diff) below();
}, true);

for (const kind of ["pointerover", "focusin"]) {
  form.addEventListener(kind, (event) => light(event.target.closest("[data-row]")?.dataset.id ?? null));
}

addEventListener("popstate", () => location.reload());

state.open = new URLSearchParams(location.search).get("open") ?? "";
state.diff = new URLSearchParams(location.search).has("diff");
commit();
dress();
