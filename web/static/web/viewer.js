// Steps through the frames of a match. Pictures come from the server; players' names are only ever set as text.
const viewer = document.getElementById("viewer");
const [image, caption, text, slider, speed] = ["frame", "caption", "text", "slider", "speed"].map((id) => document.getElementById(id));
const playButton = viewer.querySelector("[data-do=play]");
const FRAME_MILLISECONDS = 800;
let frames = [];
let position = 0;
let timer = null;

function show(wanted) {
  position = Math.max(0, Math.min(frames.length - 1, wanted));
  const frame = frames[position];
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(frame.svg)}`;
  image.alt = frame.text;
  caption.textContent = frame.caption;
  text.textContent = frame.text;
  slider.value = position;
  slider.setAttribute("aria-valuetext", frame.caption);
  const url = new URL(location);
  url.searchParams.set("frame", position);
  history.replaceState(null, "", url);
}

function pause() {
  clearTimeout(timer);
  timer = null;
  playButton.textContent = "Play";
  playButton.setAttribute("aria-pressed", "false");
}

function tick() {
  if (position >= frames.length - 1) return pause();
  show(position + 1);
  timer = setTimeout(tick, FRAME_MILLISECONDS / Number(speed.value));
}

function play() {
  if (timer) return pause();
  if (position >= frames.length - 1) show(0);
  playButton.textContent = "Pause";
  playButton.setAttribute("aria-pressed", "true");
  timer = setTimeout(tick, FRAME_MILLISECONDS / Number(speed.value));
}

const actions = {
  play,
  first: () => { pause(); show(0); },
  back: () => { pause(); show(position - 1); },
  forward: () => { pause(); show(position + 1); },
  last: () => { pause(); show(frames.length - 1); },
};
const keys = { " ": "play", ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };

viewer.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button && frames.length) actions[button.dataset.do]();
});
slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });
document.addEventListener("keydown", (event) => {
  const busy = event.target.closest("select, input, textarea, a, button") && !(event.target === slider);
  if (!frames.length || !keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  if (busy && event.key === " ") return;
  event.preventDefault();
  actions[keys[event.key]]();
});

load();
async function load() {
  try {
    const response = await fetch(viewer.dataset.frames);
    const data = await response.json();
    if (data.error) throw new Error(data.error);
    frames = data.frames;
  } catch (error) {
    caption.textContent = `The match cannot be shown: ${error.message}`;
    return;
  }
  slider.max = frames.length - 1;
  show(Number(new URL(location).searchParams.get("frame") ?? 0) || 0);
}
