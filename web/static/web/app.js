// Small conveniences; every page works without them.
document.getElementById("theme")?.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});

// Progress is asked for only while somebody looks.
document.body.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden) event.preventDefault();
});

// A live log that is refreshed stays where its reader has scrolled, or at its end; opened details stay open.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  const open = [...event.detail.target.querySelectorAll("details")].map((details) => details.open);
  document.body.addEventListener("htmx:afterSettle", () => {
    document.querySelectorAll(`#${event.detail.target.id} details`).forEach((details, index) => {
      if (open[index]) details.open = true;
    });
    document.querySelectorAll("pre.log").forEach((log) => { log.scrollTop = log.scrollHeight; });
  }, { once: true });
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) {
    event.preventDefault();
  } else if ("once" in form.dataset) {
    const button = form.querySelector("button[type=submit]");
    button.disabled = true;
    button.textContent = "Uploading …";
  }
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
});
