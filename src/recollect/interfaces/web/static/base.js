// What every page shares: short messages, and asking the server.

// A message that goes away by itself; `action` is { label, run } for a button in it.
export function toast(text, { action, bad = false } = {}) {
  const box = document.createElement("div");
  box.className = bad ? "toast bad" : "toast";
  box.append(text);
  if (action) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = action.label;
    button.addEventListener("click", () => { box.remove(); action.run(); });
    box.append(button);
  }
  document.querySelector("[data-toasts]").append(box);
  setTimeout(() => box.remove(), bad || action ? 10000 : 5000);
  return box;
}

// JSON from the API; what went wrong is thrown as one sentence.
export async function ask(path, { method = "GET", body, headers = {}, signal } = {}) {
  const options = { method, signal, headers: { Accept: "application/json", ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const answer = await reach(path, options);
  if (answer.status === 204) return null;
  const reply = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(reply.detail ?? reply.title ?? `The server answered ${answer.status}.`);
  return reply;
}

// A piece of a page as HTML text; with a form's values where there is a `body`.
export async function piece(path, { signal, body } = {}) {
  const method = body === undefined ? "GET" : "POST";
  const answer = await reach(path, { method, body, signal, headers: { Accept: "text/html" } });
  const reply = await answer.text();
  if (!answer.ok && !reply.includes("data-problem")) throw new Error(`The server answered ${answer.status}.`);
  return reply;
}

// Put the piece that was asked for into its place, or what went wrong.
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
    throw new Error("The server cannot be reached; is it still running?");
  }
}
