// Small conveniences; every page works without them.

// Light and dark ---------------------------------------------------------------
const themeButton = document.getElementById("theme");
if (themeButton) {
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = isDark() ? "light" : "dark";
    theme.write(root.dataset.theme);
  });
}

// Times ------------------------------------------------------------------------
// Pages write times in UTC: readers elsewhere see their own times, and UTC as the title. Times in the zone of a tournament
// stay as they are, and have the reader's as the title.
const both = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const text = time.textContent;
    const at = new Date(time.dateTime);
    if ("zone" in time.dataset) time.title = `${both.format(at)} where you are`;
    if ("zone" in time.dataset || !text.endsWith(" UTC") || !at.getTimezoneOffset()) continue;
    time.title = text;
    time.textContent = (text.includes(",") ? both : clock).format(at);
  }
}
showLocalTimes(document);

// How long it is until a moment stands behind it, and follows the clock.
const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"]];
function left(seconds) {
  const at = UNITS.findIndex(([size]) => seconds >= size);
  if (at < 0) return "in less than a minute";
  const parts = [];
  for (const [size, word] of UNITS.slice(at, at + 2)) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    if (count) parts.push(`${count} ${word}${count === 1 ? "" : "s"}`);
  }
  return `in ${parts.join(" ")}`;
}
function countDown() {
  for (const time of document.querySelectorAll("time[data-countdown]")) {
    const seconds = (new Date(time.dateTime) - Date.now()) / 1000;
    let words = time.nextElementSibling;
    if (!words?.classList.contains("left")) {
      words = document.createElement("span");
      words.className = "left muted";
      time.after(" ", words);
    }
    words.textContent = seconds > 0 ? left(seconds) : "now";
  }
}
countDown();
setInterval(countDown, 30000);

// Tabs -------------------------------------------------------------------------
// Scrolls the current tab into view if the tabs do not fit on one line.
const tab = document.querySelector(".sections [aria-current]");
if (tab) tab.parentNode.scrollLeft = tab.offsetLeft - (tab.parentNode.clientWidth - tab.offsetWidth) / 2;

// Live parts -------------------------------------------------------------------
const lastAnswers = new Map();

// Hidden pages do not refresh.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.matches("[hx-trigger^=every], [hx-trigger^=visibilitychange]")) event.preventDefault();
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, xhr, shouldSwap } = event.detail;
  // An answer that is not swapped in changes nothing.
  if (!shouldSwap) return;
  // If nothing has changed, focus, selection and open parts must stay.
  if (lastAnswers.get(target.id) === xhr.responseText) {
    event.detail.shouldSwap = false;
    return;
  }
  lastAnswers.set(target.id, xhr.responseText);
  const open = new Map([...target.querySelectorAll("details[id]")].map((part) => [part.id, part.open]));
  const ticked = new Set([...target.querySelectorAll("input[type=checkbox][id]:checked")].map((box) => box.id));
  const sideways = new Map([...target.querySelectorAll("[id][tabindex]")].map((part) => [part.id, part.scrollLeft]));
  const logs = new Map([...target.querySelectorAll("details[id] pre")].map((log) => [log.parentNode.id, log]));
  const active = target.contains(document.activeElement) ? document.activeElement : null;
  const focused = active && !active.id ? nameOf(active) : "";
  // What the reader looks at stays where it is, also if something above it grows.
  const looked = scrollY && [...target.querySelectorAll("[id]")].find((one) => one.getClientRects().length && one.getBoundingClientRect().top >= 0);
  const top = looked && looked.getBoundingClientRect().top;
  document.addEventListener("htmx:afterSwap", () => {
    const part = document.getElementById(target.id);
    if (!part) return;
    for (const [id, isOpen] of open) {
      const details = document.getElementById(id);
      if (details) details.open = isOpen;
    }
    for (const [id, position] of sideways) {
      const region = document.getElementById(id);
      if (region) region.scrollLeft = position;
    }
    for (const box of part.querySelectorAll("input[type=checkbox][id]")) box.checked = ticked.has(box.id);
    showCopyButtons(part);
    offerFiles(part);
    showLocalTimes(part);
    countDown();
    if (looked) scrollBy({ top: (document.getElementById(looked.id)?.getBoundingClientRect().top ?? top) - top, behavior: "instant" });
    // A part that htmx keeps is moved, and loses the focus.
    if (active?.isConnected) active.focus({ preventScroll: true });
    else if (focused) [...part.querySelectorAll(FOCUSED)].find((one) => nameOf(one) === focused)?.focus({ preventScroll: true });
    for (const [id, before] of logs) {
      const log = document.querySelector(`#${id} pre`);
      const wasAtEnd = before.dataset.atEnd !== "no";
      if (log) log.scrollTop = wasAtEnd ? log.scrollHeight : Number(before.dataset.position ?? 0);
      if (log && !wasAtEnd) log.dataset.atEnd = "no";
    }
    announce(part);
  }, { once: true });
});

// htmx restores the focus by id; this restores it for elements without an id, by their link or words.
const FOCUSED = "a[href], button, summary, [tabindex]";
function nameOf(one) {
  const says = one.matches("a, button") ? one.getAttribute("href") ?? one.getAttribute("aria-label") ?? one.textContent.trim() : one.closest("[id]").id;
  return `${one.localName} ${says}`;
}

// A live log follows its end unless the reader has scrolled up.
document.addEventListener("scroll", ({ target }) => {
  if (!target.matches?.("pre.log")) return;
  target.dataset.position = target.scrollTop;
  target.dataset.atEnd = target.scrollTop + target.clientHeight > target.scrollHeight - 24 ? "yes" : "no";
}, { capture: true });
document.querySelectorAll("pre[data-follow]").forEach((log) => { log.scrollTop = log.scrollHeight; });

// Announces a change once; a live region would read the whole part every two seconds.
function announce(part) {
  const announcer = document.getElementById("announcer");
  const words = part.dataset.announce;
  if (words && announcer.dataset.last !== words) announcer.textContent = words;
  announcer.dataset.last = words ?? "";
}

// Forms ------------------------------------------------------------------------
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) {
    event.preventDefault();
  } else if ("once" in form.dataset) {
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
    const button = event.submitter ?? form.querySelector("button[type=submit]");
    if (form.enctype === "multipart/form-data") button.textContent = "Uploading …";
    // Afterwards: a button that is disabled already would not be sent with its name.
    setTimeout(() => { button.disabled = true; });
  }
});
// Focuses the first wrong field of a refused form.
document.querySelector(".wrong input, .wrong select")?.focus();
// The back button must not show a form whose button is disabled. Every other page comes back as it was left.
addEventListener("pageshow", (event) => { if (event.persisted && document.querySelector("form[data-sent]")) location.reload(); });

document.addEventListener("change", ({ target }) => {
  if (target.type !== "file" || !target.dataset.maxBytes) return;
  const isTooLarge = [...target.files].some((file) => file.size > Number(target.dataset.maxBytes));
  target.setCustomValidity(isTooLarge ? target.dataset.tooLarge : "");
  target.reportValidity();
});
// Without clearing the field, choosing the same file again after shrinking it is not a change.
document.addEventListener("click", ({ target }) => {
  if (target.type !== "file" || !target.validity.customError) return;
  target.setCustomValidity("");
  target.value = "";
});

// Asks for the main file only if there are several Python files, and offers their names.
function offerNames(input) {
  const main = document.getElementById(input.dataset.main);
  const names = [...input.files].map((file) => file.name).filter((name) => name.endsWith(".py"));
  const isNeeded = names.length > 1 && !names.includes("player.py");
  document.getElementById("main-files").replaceChildren(...names.map((name) => new Option(name, name)));
  main.closest(".field").hidden = !isNeeded && !main.value;
}
document.querySelectorAll("input[type=file][data-main]").forEach((input) => {
  offerNames(input);
  input.addEventListener("change", () => offerNames(input));
});

// Videos -----------------------------------------------------------------------
// Offers the file where the browser cannot play it, instead of a button that does nothing.
function offerFiles(root) {
  for (const source of root.querySelectorAll("video > source")) {
    const video = source.parentNode;
    if (video.canPlayType(source.type)) continue;
    const link = Object.assign(document.createElement("a"), { href: source.src, textContent: "Download the video" });
    const words = document.createElement("p");
    words.append("This browser does not play videos of this kind. ", link);
    video.replaceWith(words);
  }
}
offerFiles(document);

// Printing ---------------------------------------------------------------------
document.querySelectorAll("[data-print]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
});

// Copying ----------------------------------------------------------------------
function showCopyButtons(root) {
  if (navigator.clipboard) root.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = false; });
}
showCopyButtons(document);
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  if (button.textContent.trim()) button.textContent = "Copied";
  button.classList.add("copied");
  document.getElementById("announcer").textContent = "Copied";
});
