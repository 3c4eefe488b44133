// The inbox: loaded after the page, decided by keys; then the next item is marked.

const { bindKeys, changeInPlace, piece, show } = await import(document.querySelector('script[src*="/base.js"]').src);

const DECISIONS = { a: "keep", e: "edit", m: "merge", s: "supersede", x: "forget", l: "later" };
const inbox = document.querySelector("[data-inbox]");
const items = () => [...inbox.querySelectorAll("[data-item]")];
const current = () => items().find((item) => item.hasAttribute("data-current"));

function mark(place, { focus = true } = {}) {
  const all = items();
  const chosen = all[Math.max(0, Math.min(all.length - 1, place))];
  for (const item of all) item.toggleAttribute("data-current", item === chosen);
  if (!focus) return;
  chosen?.focus({ preventScroll: true });
  chosen?.scrollIntoView({ block: "nearest" });
}

async function look() {
  const looking = inbox.querySelector("[data-looking]"), start = Date.now();
  const clock = looking && setInterval(() => { looking.textContent = `Looking for items … ${Math.round((Date.now() - start) / 1000)} s`; }, 1000);
  inbox.setAttribute("aria-busy", "true");
  await show(inbox, piece(inbox.dataset.inbox));
  inbox.removeAttribute("aria-busy");
  clearInterval(clock);
}

changeInPlace(async () => {
  const place = items().indexOf(current());
  await look();
  mark(place);
});

document.addEventListener("focusin", (event) => {
  const item = event.target.closest("[data-item]");
  if (item) mark(items().indexOf(item), { focus: false });
});

const step = (by) => () => mark(items().indexOf(current()) + by);
const decide = (decision) => () => current()?.querySelector(`[data-decision=${decision}]`)?.click();

bindKeys({
  j: step(1), ArrowDown: step(1), k: step(-1), ArrowUp: step(-1),
  ...Object.fromEntries(Object.entries(DECISIONS).map(([key, decision]) => [key, decide(decision)])),
});

await look();
mark(0, { focus: false });
