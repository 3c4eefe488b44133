// The exact numbers of the bar under the pointer or the focus, and arrow keys from bar to bar.

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

// One stop for the Tab key; the arrows go on from there.
function move(event, place) {
  const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: bars.length - 1 }[event.key];
  if (to === undefined || !bars[to]) return;
  event.preventDefault();
  bars[place].setAttribute("tabindex", "-1");
  bars[to].setAttribute("tabindex", "0");
  bars[to].focus();
}
