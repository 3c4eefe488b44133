// The link in the address logs in by itself; without scripts there is a button.
document.querySelector("[data-link]")?.requestSubmit();
