// Live updates: the feed, lists that stay up to date, and a bar when the server is away. Hidden pages
// disconnect, because a browser has six connections for each server.

const { piece } = await import(document.querySelector('script[src*="/base.js"]').src);

const START_MS = 1500; // do not connect from pages that are left at once; the feed does not wait
const AWAY_MS = 1200; // do not report a shorter restart
const AGAIN_MS = 5000; // if the browser does not reconnect by itself
const LIST_MS = 400; // after the last of several writes
const AWAY = "The server cannot be reached. This page reconnects by itself.";

const feed = document.querySelector("[data-feed]");
const bar = document.querySelector("[data-server-bar]");
const lists = () => [...document.querySelectorAll("[data-live]:not([data-feed])")];
let source = null;
let timer = 0;

function connect() {
  clearTimeout(timer);
  if (source || document.hidden) return;
  source = new EventSource(feed?.dataset.feed ?? "/live/events");
  source.addEventListener("ready", () => {
    tell("");
    catchUp(); // changes between loading the page and connecting
    state();
  });
  source.addEventListener("activity", (event) => arrived(JSON.parse(event.data)));
  source.addEventListener("open", () => clearTimeout(timer));
  source.addEventListener("locked", (event) => tell(JSON.parse(event.data).why, "Unlock it", "/"));
  source.addEventListener("over", (event) => { close(); tell(JSON.parse(event.data).why, "Log in", login()); });
  source.addEventListener("error", failed);
}

function close() {
  source?.close();
  source = null;
}

function failed() {
  const gone = source?.readyState === EventSource.CLOSED;
  if (gone) close();
  clearTimeout(timer);
  timer = setTimeout(gone ? ask : () => tell(AWAY), gone ? 0 : AWAY_MS);
}

// An EventSource does not tell why it was refused, so ask the server.
async function ask() {
  let why = AWAY;
  try {
    const answer = await fetch("/live/events?once=true", { headers: { Accept: "application/json" } });
    if (answer.status === 401) return tell("You are no longer logged in here.", "Log in", login());
    if (answer.ok) return connect();
    why = (await answer.json()).detail ?? why;
  } catch { /* it is away */ }
  tell(why);
  timer = setTimeout(connect, AGAIN_MS);
}

const login = () => `/login?next=${encodeURIComponent(location.pathname + location.search)}`;

function tell(text, label = "", href = "") {
  clearTimeout(timer);
  bar.hidden = !text;
  bar.replaceChildren(text);
  if (!label) return;
  const link = document.createElement("a");
  link.href = href;
  link.textContent = label;
  bar.append(" ", link);
}

function catchUp() {
  if (feed && !paused()) renew(feed);
  if (lists().length) listed();
}

// The feed: new rows appear at the top, unless the pointer or the focus is in the list.

const pause = document.querySelector("[data-feed-pause]");
const shown = document.querySelector("[data-feed-state]");
const MOST_ROWS = 200;
let waiting = [];
let pressed = false;

function arrived(entry) {
  if (entry.html) {
    waiting.push(entry.html);
    flow();
  }
  if (entry.write && lists().length) {
    clearTimeout(listTimer);
    listTimer = setTimeout(listed, LIST_MS);
  }
}

const paused = () => pressed || feed.matches(":hover, :focus-within");

function state() {
  if (!feed) return;
  const text = paused() ? "Paused" : "Updating live";
  shown.textContent = waiting.length ? `${text}, ${waiting.length} new` : text;
}

function flow() {
  if (!paused()) {
    document.querySelector("[data-empty]")?.remove();
    for (const html of waiting) {
      const row = fragment(html).querySelector("[data-activity]");
      const first = feed.firstElementChild;
      row.classList.add("fresh");
      feed.prepend(row);
      if (first?.dataset.same === row.dataset.same && first.querySelector("a")?.href === row.querySelector("a")?.href) first.remove();
    }
    waiting = [];
    for (const old of [...feed.children].slice(MOST_ROWS)) old.remove();
  }
  state();
}

if (feed) {
  for (const event of ["mouseenter", "focusin"]) feed.addEventListener(event, state);
  for (const event of ["mouseleave", "focusout"]) feed.addEventListener(event, () => setTimeout(flow));
  pause.addEventListener("click", () => {
    pressed = !pressed;
    pause.setAttribute("aria-pressed", String(pressed));
    flow();
  });
  for (const field of document.querySelectorAll(".live-filters select")) field.addEventListener("change", () => field.form.submit());
}

// Lists: reload after a write. At the top of the page they are updated at once. If the page is scrolled, or
// the pointer or the focus is in the list, a button offers the update.

let listTimer = 0;

const fragment = (html) => {
  const made = document.createElement("template");
  made.innerHTML = html;
  return made.content;
};
const rowsOf = (list) => [...list.querySelectorAll("[data-row], [data-result]")].map((row) => row.dataset.row ?? row.dataset.result);

async function newer(list) {
  const html = await piece(list.dataset.live).catch(() => null);
  return html && [...fragment(html).querySelectorAll("[data-live]")].find((one) => one.dataset.live === list.dataset.live);
}

async function renew(list) {
  const next = await newer(list);
  if (next) list.replaceChildren(...next.childNodes);
}

async function listed() {
  for (const list of lists()) {
    const next = await newer(list);
    if (next === undefined && list.matches(".first-steps")) location.reload(); // the vault is no longer empty
    if (!next || !list.isConnected || next.textContent === list.textContent) continue;
    const before = new Set(rowsOf(list));
    const more = rowsOf(next).filter((id) => !before.has(id)).length;
    const same = !more && rowsOf(next).length === before.size;
    const busy = scrollY > 40 || list.matches(":hover, :focus-within") || list.querySelector("input:checked, [data-why][open]");
    if (!busy) show(list, next);
    else if (!same) offer(list, more);
  }
}

function show(list, next) {
  const top = scrollY;
  list.replaceChildren(...next.childNodes);
  scrollTo({ top, behavior: "instant" });
  document.querySelector("[data-new]")?.remove();
  list.dispatchEvent(new CustomEvent("recollect:listed", { bubbles: true }));
}

function offer(list, more) {
  const button = document.querySelector("[data-new]") ?? document.createElement("button");
  button.type = "button";
  button.className = "new-rows";
  button.dataset.new = "";
  button.textContent = more ? `${more} new` : "The list has changed";
  button.onclick = async () => {
    const next = await newer(list);
    if (next) show(list, next);
    scrollTo({ top: 0 });
  };
  if (!button.isConnected) document.body.append(button);
}

// Ages: updated while the page is open, in the server's words.

const UNITS = [[31536000, "year"], [2592000, "month"], [86400, "day"], [3600, "hour"], [60, "minute"]];
const AGE_MS = 15000;
const since = new WeakMap(); // when the page had the element, in seconds

function age(seconds) {
  const [unit, name] = UNITS.find(([one]) => Math.abs(seconds) >= one) ?? [];
  if (!unit) return "just now";
  const count = Math.floor(Math.abs(seconds) / unit);
  const amount = `${count} ${name}${count > 1 ? "s" : ""}`;
  return seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

function tick() {
  const now = Date.now() / 1000;
  for (const time of document.querySelectorAll("time[data-age]")) {
    if (!since.has(time)) since.set(time, now - Number(time.dataset.age));
    else time.textContent = age(now - since.get(time));
  }
}

tick();
setInterval(tick, AGE_MS);

// Whether the page can be seen

document.addEventListener("visibilitychange", () => {
  if (document.hidden) close();
  else connect();
});
addEventListener("pagehide", close);
addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
if (feed) connect();
else timer = setTimeout(connect, START_MS);
