// Submit the login link; without scripts there is a button.
document.querySelector("[data-link]")?.requestSubmit();
