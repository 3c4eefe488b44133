// The numbers of the bar under the pointer or the focus, arrow keys between bars, and zooming by dragging.

const bars = [...document.querySelectorAll("[data-bar]")];
const readout = document.querySelector("[data-readout]");

if (bars.length) {
  const otherwise = readout.textContent;
  const tell = (bar) => { readout.textContent = bar.getAttribute("aria-label"); };
  bars.forEach((bar, place) => {
    bar.setAttribute("tabindex", place === bars.length - 1 ? "0" : "-1");
    bar.addEventListener("pointerenter", () => tell(bar));
    bar.addEventListener("pointerleave", () => { readout.textContent = otherwise; });
    bar.addEventListener("focus", () => tell(bar));
    bar.addEventListener("blur", () => { readout.textContent = otherwise; });
    bar.addEventListener("keydown", (event) => move(event, place));
  });
}

// One stop for the Tab key; arrows move between bars.
function move(event, place) {
  const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: bars.length - 1 }[event.key];
  if (to === undefined || !bars[to]) return;
  event.preventDefault();
  bars[place].setAttribute("tabindex", "-1");
  bars[to].setAttribute("tabindex", "0");
  bars[to].focus();
}

const chart = document.querySelector("[data-chart]");
const LEAST_PX = 12; // a shorter drag is a click

if (chart) {
  const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  box.setAttribute("class", "selection");
  box.setAttribute("height", "100%");
  let from = null;
  const at = (event) => Math.min(Math.max(event.clientX - chart.getBoundingClientRect().left, 0), chart.clientWidth);
  const mark = (to) => { box.setAttribute("x", Math.min(from, to)); box.setAttribute("width", Math.abs(to - from)); };
  chart.addEventListener("dragstart", (event) => event.preventDefault());
  chart.addEventListener("pointerdown", (event) => { if (event.button === 0) from = at(event); });
  addEventListener("pointermove", (event) => {
    if (from === null || (!box.isConnected && Math.abs(at(event) - from) < LEAST_PX)) return;
    if (!box.isConnected) chart.append(box);
    mark(at(event));
  });
  addEventListener("pointerup", (event) => {
    const begun = from;
    from = null;
    if (begun === null || !box.isConnected) return;
    const width = chart.clientWidth;
    zoom([begun, at(event)].sort((a, b) => a - b).map((x) => x / width));
  });
  // The bar under the pointer is a link; a drag must not follow it.
  chart.addEventListener("click", (event) => { if (box.isConnected) event.preventDefault(); }, true);
}

// Whole days, both ends included.
function zoom([begin, end]) {
  const day = 86400000;
  const first = Date.parse(chart.dataset.starts);
  const days = (Date.parse(chart.dataset.ends) - first) / day + 1;
  const dayAt = (share) => new Date(first + Math.min(days - 1, Math.floor(share * days)) * day).toISOString().slice(0, 10);
  const form = document.querySelector("[data-zoom]");
  form.elements.first.value = dayAt(begin);
  form.elements.last.value = dayAt(end);
  form.requestSubmit();
}
