// Keeps the video and the steps of a rollout in step; the page works without it.
const stepList = () => document.getElementById("step-list");
const video = () => document.getElementById("video");
const current = () => stepList()?.querySelector("[aria-current]");
let isFollowing = false;
let isPlaying = false;

function mark(link) {
  current()?.removeAttribute("aria-current");
  link.setAttribute("aria-current", "step");
  reveal();
}

// Scrolls the list only; the page stays where the reader is.
function reveal() {
  const panel = current()?.closest(".steps-panel");
  if (panel && panel.scrollHeight > panel.clientHeight) panel.scrollTop = current().offsetTop - panel.clientHeight / 2;
}
document.addEventListener("htmx:afterSettle", ({ target }) => { if (target.id === "rollout") reveal(); });
reveal();

// A step that is chosen seeks the video, unless the video has chosen it.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("#step-list a");
  if (!link) return;
  mark(link);
  if (!video() || isFollowing) return;
  isPlaying = !video().paused;
  video().currentTime = Number(link.dataset.at) / 1000;
});

document.addEventListener("play", ({ target }) => { if (target.id === "video") isPlaying = true; }, { capture: true });
// At its end a video is paused already when it tells its last moment.
document.addEventListener("pause", ({ target }) => { if (!target.ended) isPlaying = false; }, { capture: true });

document.addEventListener("timeupdate", ({ target }) => {
  if (target.id !== "video" || !isPlaying) return;
  const passed = [...stepList().querySelectorAll("a")].filter((link) => Number(link.dataset.at) <= target.currentTime * 1000);
  const link = passed.at(-1);
  if (!link || link === current()) return;
  isFollowing = true;
  link.click();
  isFollowing = false;
}, { capture: true });

// j and k go on and back, wherever nothing is typed.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea, video")) return;
  if (document.querySelector("dialog[open]")) return;
  const by = { j: "nextElementSibling", k: "previousElementSibling" }[event.key];
  const link = by && current()?.parentNode[by]?.querySelector("a");
  if (!link) return;
  event.preventDefault();
  link.click();
});
document.querySelectorAll(".keys-help").forEach((help) => { help.hidden = false; });

// A step that was chosen stays; without one the page follows the newest.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  const step = new URLSearchParams(location.search).get("step");
  if (detail.elt.id === "rollout" && step) detail.parameters.step = step;
});
