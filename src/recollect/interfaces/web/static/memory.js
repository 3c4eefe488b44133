// A memory's page and the form. Both also work without scripts.

// Imported by the same address as in the page, so that it is the same module.
const { piece, show } = await import(document.querySelector('script[src*="/base.js"]').src);

const related = document.querySelector("[data-related]");
if (related) {
  related.innerHTML = '<div class="waiting" aria-label="Looking for related memories"><span></span><span></span><span></span></div>';
  related.setAttribute("aria-busy", "true");
  await show(related, piece(related.dataset.related));
  related.removeAttribute("aria-busy");
}

const form = document.querySelector("[data-edit-form]");
if (form) {
  let typed = document.querySelector("[data-problem], [data-conflict], [data-unsaved]") !== null;
  form.addEventListener("input", () => { typed = true; });
  form.addEventListener("submit", () => { typed = false; });
  addEventListener("beforeunload", (event) => { if (typed) event.preventDefault(); });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  tags(form.querySelector("#field-add-tags"), form.querySelector("[data-tag-list]"));
  const values = document.querySelector("[data-values]");
  // Counting them takes a moment in a large vault, so they are loaded later.
  piece(values.dataset.values).then((options) => { values.innerHTML = options; }, () => {});
}

// Enter or a comma adds a tag; without scripts the server splits the field.
function tags(field, list) {
  const add = () => {
    const names = field.value.split(",").map((name) => name.trim()).filter(Boolean);
    for (const name of names) list.append(choice(list, name));
    field.value = "";
  };
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    if (event.key !== "," && (event.key !== "Enter" || !field.value.trim())) return;
    event.preventDefault();
    add();
  });
  field.addEventListener("input", (event) => { if (event.inputType === "insertReplacementText" || !event.inputType) add(); });
}

function choice(list, name) {
  const known = [...list.querySelectorAll("input")].find((one) => one.value === name);
  const box = known ?? document.createElement("input");
  box.type = "checkbox";
  box.checked = true;
  if (known) return known.closest("li");
  box.name = "tags";
  box.value = name;
  const label = document.createElement("label");
  label.className = "chip tag-choice";
  label.append(box, name);
  const item = document.createElement("li");
  item.append(label);
  return item;
}
