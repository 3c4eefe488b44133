// Filters that are counted after the page is there, and the keys of the listing.

// By the address the page loaded it from: under any other it would be a second one.
const { piece, show } = await import(document.querySelector('script[src*="/base.js"]').src);

const panel = document.querySelector("[data-filters]");
if (panel) {
  const toggle = panel.querySelector("[data-filters-toggle]");
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    toggle.setAttribute("aria-expanded", String(toggle.getAttribute("aria-expanded") !== "true"));
  });
  fill(panel, panel.querySelector("[data-filter-groups]"));
}

async function fill(panel, groups) {
  groups.innerHTML = '<div class="filters-waiting" role="status" aria-label="Counting"><span></span><span></span><span></span><span></span></div>';
  await show(groups, piece(panel.dataset.filters));
  const total = document.querySelector("[data-total]"), found = groups.querySelector("[data-count]");
  if (total && found) total.textContent = found.dataset.count;
}

const asOf = document.querySelector("[data-as-of-field]");
asOf?.addEventListener("change", () => asOf.form.requestSubmit());
const turns = { "]": "[data-older]", "[": "[data-newer]" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || event.target.closest("input, textarea, select, [contenteditable]")) return;
  const titles = [...document.querySelectorAll("[data-row] .entry-title")];
  const at = titles.indexOf(document.activeElement);
  const arrows = at >= 0;  // elsewhere they scroll
  if (event.key === "j" || (arrows && event.key === "ArrowDown")) step(event, titles, at + 1);
  else if (event.key === "k" || (arrows && event.key === "ArrowUp")) step(event, titles, at < 0 ? 0 : at - 1);
  else if (turns[event.key]) document.querySelector(turns[event.key])?.click();
});

function step(event, titles, to) {
  if (!titles.length) return;
  event.preventDefault();
  const title = titles[Math.max(0, Math.min(titles.length - 1, to))];
  title.focus();
  title.scrollIntoView({ block: "nearest" });
}

// What was just forgotten is said once, not again on every reload.
if (document.querySelector("[data-forgotten]")) {
  const here = new URL(location.href);
  here.searchParams.delete("forgotten");
  history.replaceState(null, "", here);
}
