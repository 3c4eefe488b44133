// Filters, loaded after the page, and the keys of the list.

// Imported by the same address as in the page, so that it is the same module.
const { bindKeys, moveThrough, piece, show } = await import(document.querySelector('script[src*="/base.js"]').src);

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

const titles = () => [...document.querySelectorAll("[data-row] .entry-title")];
const arrow = (step) => () => titles().includes(document.activeElement) && moveThrough(titles(), step);  // otherwise they scroll

bindKeys({
  j: () => moveThrough(titles(), 1),
  k: () => moveThrough(titles(), -1),
  ArrowDown: arrow(1),
  ArrowUp: arrow(-1),
  "]": () => document.querySelector("[data-older]")?.click(),
  "[": () => document.querySelector("[data-newer]")?.click(),
});
