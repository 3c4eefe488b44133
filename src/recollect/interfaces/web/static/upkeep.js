// Background jobs: started by a form and followed until they end; then the parts that may have changed are
// reloaded. Without scripts each form leads back to the page.

const { piece, show, toast } = await import(document.querySelector('script[src*="/base.js"]').src);

const work = document.querySelector("[data-work-piece]");
const EVERY = 1000;

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-job]")) return;
  event.preventDefault();
  await show(work, piece("/upkeep/work?piece=1", { body: new URLSearchParams(new FormData(form)) }));
  follow();
});

if (work.querySelector("[data-running]")) follow();

function follow() {
  if (!work.querySelector("[data-running]")) return refresh();
  setTimeout(async () => {
    await show(work, piece("/upkeep/work"));
    follow();
  }, EVERY);
}

// Announce only the end of a job, not its numbers, which change every second.
async function refresh() {
  const done = work.querySelector("[data-outcome]")?.textContent;
  if (!done) return;
  const made = new DOMParser().parseFromString(await piece("/upkeep"), "text/html");
  for (const part of document.querySelectorAll("[data-refresh]")) {
    const next = made.getElementById(part.id);
    if (next) part.replaceWith(next);
    else part.remove();
  }
  toast(done);
}
