// Common to all pages: short messages, requests, changes that can be undone, and keys.

// A message that disappears by itself. `action`: { label, run } of a button in it. `undo`: the field of the
// form that undoes the change.
export function toast(text, { action, undo = {}, bad = false } = {}) {
  const box = document.createElement("div");
  box.className = bad ? "toast bad" : "toast";
  box.append(text);
  if (action) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = action.label;
    button.toggleAttribute("data-undo", action.label === "Undo");
    button.addEventListener("click", () => { box.remove(); action.run(); });
    box.append(button);
  }
  const toasts = document.querySelector("[data-toasts]");
  for (const [field, value] of Object.entries(undo)) {
    for (const older of toasts.querySelectorAll("form")) older.remove(); // one undo at a time
    box.append(undoForm(field, value));
  }
  toasts.append(box);
  setTimeout(() => box.remove(), bad || box.querySelector("button") ? 10000 : 5000);
  return box;
}

function undoForm(field, value) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = "/undo";
  form.dataset.change = "";
  form.innerHTML = '<input type="hidden"><button type="submit" class="quiet" data-undo></button>';
  form.firstChild.name = field;
  form.firstChild.value = value;
  form.lastChild.textContent = field === "redo" ? "Redo" : "Undo";
  return form;
}

// Send forms that change memories without leaving the page; `refresh` shows the result. On other pages the
// browser sends them, and the next page shows the message.
export function changeInPlace(refresh) {
  document.addEventListener("submit", async (event) => {
    const { target: form, submitter } = event;
    if (!form.matches("[data-change]")) return;
    event.preventDefault();
    const path = submitter?.getAttribute("formaction") ?? form.getAttribute("action");
    try {
      const { said, undo } = await ask(path, { method: "POST", body: new URLSearchParams(new FormData(form, submitter)) });
      form.closest(".toast, [data-done]")?.remove();
      await refresh(form);
      toast(said, { undo });
    } catch (error) {
      toast(error.message, { bad: true });
    }
  });
}

// Buttons that copy the text in their attribute.
document.addEventListener("click", async (event) => {
  const text = event.target.closest("[data-copies]")?.dataset.copies;
  if (text === undefined) return;
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    toast("The browser does not allow this page to copy.", { bad: true });
  }
});

// Keys: one registry and one handler. A binding returns false if it does not apply; then the key has its
// usual effect. In text fields only named keys of the search box work.
const bindings = new Map();
const FIELDS = "input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]";

export const singleKeys = {
  get on() { return localStorage.getItem("letters") !== "off"; },
  set on(yes) { localStorage.setItem("letters", yes ? "on" : "off"); },
};

export function bindKeys(more) {
  for (const [key, run] of Object.entries(more)) bindings.set(key, [run, ...(bindings.get(key) ?? [])]);
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented || event.altKey || document.querySelector("dialog[open]")) return;
  const control = event.ctrlKey || event.metaKey;
  if (!control && event.key.length === 1 && event.key !== " " && !singleKeys.on) return;
  if (!control && event.target.closest(FIELDS) && !(event.key.length > 1 && event.target.matches("[data-box]"))) return;
  const key = control ? `Control+${event.key.toLowerCase()}` : event.key;
  if ((bindings.get(key) ?? []).some((run) => run(event) !== false)) event.preventDefault();
});

// Move the focus `step` rows in a list; before the first row, `above` gets it.
export function moveThrough(rows, step, above) {
  const here = rows.indexOf(document.activeElement);
  const to = here < 0 && step < 0 ? 0 : here + step;
  const row = to < 0 && above ? above : rows[Math.max(0, Math.min(rows.length - 1, to))];
  row?.focus();
  row?.scrollIntoView({ block: "nearest" });
}

// JSON from the API; an error is thrown as one sentence.
export async function ask(path, { method = "GET", body, headers = {}, signal } = {}) {
  const options = { method, signal, headers: { Accept: "application/json", ...headers } };
  if (body instanceof URLSearchParams) options.body = body;
  else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const answer = await reach(path, options);
  if (answer.status === 204) return null;
  const reply = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(reply.detail ?? reply.title ?? `The server answered ${answer.status}.`);
  return reply;
}

// A piece of a page as HTML; `body`: the values of a form to send.
export async function piece(path, { signal, body } = {}) {
  const method = body === undefined ? "GET" : "POST";
  const answer = await reach(path, { method, body, signal, headers: { Accept: "text/html" } });
  const reply = await answer.text();
  if (!answer.ok && !reply.includes("data-problem")) throw new Error(`The server answered ${answer.status}.`);
  return reply;
}

// Load a piece into its place, or show the error there.
export async function show(place, asked) {
  try {
    place.innerHTML = await asked;
  } catch (error) {
    const notice = document.createElement("p");
    notice.className = "notice bad";
    notice.dataset.problem = "";
    notice.textContent = error.message;
    place.replaceChildren(notice);
  }
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached. Check that it is running.");
  }
}
