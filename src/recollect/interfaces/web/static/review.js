// The inbox by keys: one letter decides the item that is marked, and the next one follows.

const { toast } = await import(document.querySelector('script[src*="/base.js"]').src);

const DECISIONS = { a: "keep", e: "edit", m: "merge", s: "supersede", x: "forget", l: "later" };
const inbox = () => document.querySelector("[data-inbox]");
const items = () => [...inbox().querySelectorAll("[data-item]")];
let deciding = false;

const current = () => items().find((item) => item.hasAttribute("data-current"));

function mark(place, { focus = true } = {}) {
  const all = items();
  const chosen = all[Math.max(0, Math.min(all.length - 1, place))];
  for (const item of all) item.toggleAttribute("data-current", item === chosen);
  if (focus) chosen?.focus({ preventScroll: true });
  if (focus) chosen?.scrollIntoView({ block: "nearest" });
}

async function send(form, button) {
  if (deciding) return;
  deciding = true;
  const place = items().indexOf(form.closest("[data-item]"));
  const body = new URLSearchParams(new FormData(form));
  body.set("decision", button.value);
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = page.querySelector("[data-inbox]");
    if (!next) throw new Error(page.querySelector("[data-problem] p")?.textContent ?? `The server answered ${answer.status}.`);
    inbox().replaceWith(document.adoptNode(next));
    mark(place);
  } catch (error) {
    toast(error.message, { bad: true });
  }
  deciding = false;
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-decide]") || !event.submitter) return;
  event.preventDefault();
  send(event.target, event.submitter);
});

document.addEventListener("focusin", (event) => {
  const item = event.target.closest("[data-item]");
  if (item) mark(items().indexOf(item), { focus: false });
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (document.querySelector("dialog[open]") || localStorage.getItem("letters") === "off") return;
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
  const decision = DECISIONS[event.key];
  if (step) mark(items().indexOf(current()) + step);
  else if (decision) current()?.querySelector(`[data-decision=${decision}]`)?.click();
  else return;
  event.preventDefault();
});

mark(0, { focus: false });
