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
