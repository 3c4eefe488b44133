// The parts of the page that take long: checking, repairing, making vectors. Without script each is
// a form that leads back to the page.

const { piece, show, toast } = await import(document.querySelector('script[src*="/base.js"]').src);

const health = document.querySelector("[data-check-piece]");
const work = document.querySelector("[data-work-piece]");
const vectors = document.querySelector("[data-vectors-piece]");
const EVERY = 1000;

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const checking = form.matches("[data-check], [data-repair]");
  if (form.matches("[data-job]")) {
    event.preventDefault();
    await show(work, send(form));
    return follow();
  }
  if (!checking && !form.matches("[data-embed]")) return;
  event.preventDefault();
  form.querySelector("button").disabled = true;
  if (checking) {
    const stop = busy(health, form.matches("[data-repair]") ? "Repairing and checking" : "Checking");
    await show(health, send(form));
    stop();
    const found = health.querySelector("[data-checked] .badge");
    if (found) toast(`The check is done: ${found.textContent}.`);
    const again = document.querySelector("[data-check] button");
    if (again) again.disabled = false;
  } else {
    await show(vectors, send(form));
    watch();
  }
});

if (vectors.querySelector("[data-running]")) watch();
if (work.querySelector("[data-running]")) follow();

// What takes long, until it is done; then the lists that it may have changed.
function follow() {
  if (!work.querySelector("[data-running]")) return refresh();
  setTimeout(async () => {
    await show(work, piece("/upkeep/work"));
    follow();
  }, EVERY);
}

async function refresh() {
  const done = work.querySelector("[data-outcome]")?.textContent;
  if (!done) return;
  toast(done);
  const made = new DOMParser().parseFromString(await piece("/upkeep"), "text/html");
  for (const part of document.querySelectorAll("[data-refresh]")) part.replaceWith(made.getElementById(part.id));
}

function watch() {
  if (!vectors.querySelector("[data-running]")) return settle();
  setTimeout(async () => {
    await show(vectors, piece("/upkeep/vectors"));
    watch();
  }, EVERY);
}

// The numbers change every second, which nobody wants read aloud; the end is.
function settle() {
  if (vectors.querySelector("[data-waiting], [data-problem]")) return;
  const notes = document.querySelector("[data-degraded]");
  document.querySelector("[data-waiting-note]")?.remove();
  if (notes && !notes.children.length) notes.remove();
  toast("Every memory has a vector now.");
}

function send(form) {
  return piece(`${form.getAttribute("action")}?piece=1`, { body: new URLSearchParams(new FormData(form)) });
}

// How long it has been going on: nobody can tell how long it will.
function busy(place, what) {
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", what);
  const notice = document.createElement("p");
  notice.className = "small muted";
  notice.dataset.busy = "";
  const start = Date.now();
  const tell = () => { notice.textContent = `${what} … ${Math.round((Date.now() - start) / 1000)} s`; };
  tell();
  place.replaceChildren(bar, notice);
  const clock = setInterval(tell, 1000);
  return () => clearInterval(clock);
}
