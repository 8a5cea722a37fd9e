// Keys at the board: each action of the list names one. They count only while the focus is in the board's form, so that
// they never stand in the way of other shortcuts; it gets the focus at the beginning, and again after each move.
const seat = () => document.getElementById("seat");
const sitDown = () => { if (document.activeElement === document.body) seat()?.focus({ preventScroll: true }); };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (!seat()?.contains(event.target) || event.target.matches("input, select, textarea")) return;
  const choice = [...seat().querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
  if (!choice) return;
  event.preventDefault();
  choice.click();
});

document.addEventListener("htmx:afterSettle", sitDown);
sitDown();

// Who chooses for how many steps by the pointer goes on with keys, which would change the choice again.
document.addEventListener("pointerup", ({ target }) => { if (target.closest?.(".steps")) setTimeout(() => seat()?.focus({ preventScroll: true })); });

// Real time, where both sides move at once: every PACE_MS the choice is played whose key or place is held, otherwise the
// one at rest. A request that takes longer skips a beat, so the match slows down and never runs ahead.
const PACE_MS = 120;
const LOST_MS = 1000;
let isRunning = false;
let askedAt = -LOST_MS;
let held = "";
let heldKey = "";
const rest = () => seat()?.querySelector("[data-rest]");

// One request at a time: a board that is replaced while a move is on its way would lose the answer to it.
const isAsking = () => performance.now() - askedAt < LOST_MS;

function beat() {
  if (!isRunning || isAsking() || document.hidden || !seat()) return;
  if (!rest()) return htmx.trigger(document.getElementById("board"), "news");
  seat().elements.steps.value = "1";
  (seat().querySelector(`.options button[value="${held}"]`) ?? rest()).click();
}

function showRealTime() {
  const box = document.getElementById("real-time");
  if (!box || !rest()) return;
  box.closest("p").hidden = false;
  box.checked = isRunning;
}

document.addEventListener("change", ({ target }) => {
  if (target.id !== "real-time") return;
  isRunning = target.checked;
  seat().focus({ preventScroll: true });
});
document.addEventListener("keydown", (event) => {
  const choice = isRunning && [...(seat()?.querySelectorAll("button[data-key]") ?? [])].find((one) => one.dataset.key === event.key);
  if (!choice) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  held = choice.value;
  heldKey = event.key;
}, true);
document.addEventListener("pointerdown", (event) => {
  const place = isRunning && event.target.closest?.(".on-board button");
  if (place) held = place.value;
});
document.addEventListener("keyup", ({ key }) => { if (key === heldKey) held = ""; });
for (const kind of ["pointerup", "pointercancel", "blur"]) window.addEventListener(kind, () => { held = ""; });
// A click on a place ends its holding, and is no move of its own.
document.addEventListener("click", (event) => { if (isRunning && event.isTrusted && event.target.closest?.(".on-board button")) event.preventDefault(); }, true);
// Each answer to a move shows the state, so news of it are asked for only while the agent is to move.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (isRunning && event.target.id === "board" && (rest() || isAsking())) event.preventDefault();
  else askedAt = performance.now();
});
for (const kind of ["htmx:afterSettle", "htmx:sendError", "htmx:responseError"]) document.addEventListener(kind, () => { askedAt = -LOST_MS; showRealTime(); });
setInterval(beat, PACE_MS);
showRealTime();
