// Steps through the states of a match. Pictures come from the server; names of players are set only as text.
const viewer = document.getElementById("viewer");
const [picture, caption, count, text, controls] = ["frame", "caption", "count", "text", "controls"].map((id) => document.getElementById(id));
const links = [...document.querySelectorAll("#moves a")];
const FRAME_MILLISECONDS = 900;
let frames = [];
let position = 0;
let timer = null;
let slider, playButton;

function show(wanted, isFirst = false) {
  position = Math.max(0, Math.min(frames.length - 1, wanted));
  const frame = frames[position];
  picture.src = frame.image.src;
  picture.alt = picture.alt.replace(/\d+ of \d+/, `${position} of ${frames.length - 1}`);
  count.textContent = `${position} / ${frames.length - 1}`;
  // During playback, screen readers read the captions; the whole board is read only when stepping.
  text.setAttribute("aria-live", timer ? "off" : "polite");
  caption.textContent = frame.caption;
  text.textContent = frame.text;
  slider.value = position;
  slider.setAttribute("aria-valuetext", `${position}: ${frame.caption}`);
  mark(links[position]);
  if (!timer && !isFirst) remember();
}

function mark(link) {
  const before = links.find((other) => other.hasAttribute("aria-current"));
  const hadFocus = before && before === document.activeElement;
  for (const other of links) {
    other.toggleAttribute("aria-current", other === link);
    other.tabIndex = other === link ? 0 : -1;
  }
  link.setAttribute("aria-current", "step");
  if (hadFocus) link.focus({ preventScroll: true });
  const list = link.closest("ol");
  const item = link.parentElement;
  if (item.offsetTop < list.scrollTop) list.scrollTop = item.offsetTop;
  else if (item.offsetTop + item.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = item.offsetTop + item.offsetHeight - list.clientHeight;
}

// The address links to the state in view; playback does not rewrite it at every frame.
function remember() {
  const url = new URL(location);
  url.searchParams.set("frame", position);
  history.replaceState(null, "", url);
}

function setPlaying(isPlaying) {
  clearTimeout(timer);
  timer = isPlaying ? setTimeout(tick, FRAME_MILLISECONDS / speed()) : null;
  playButton.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
  playButton.classList.toggle("playing", isPlaying);
}

const speed = () => Number(controls.querySelector("[name=speed]:checked").value);

function tick() {
  show(position + 1);
  if (position < frames.length - 1) timer = setTimeout(tick, FRAME_MILLISECONDS / speed());
  else pause();
}

function pause() {
  setPlaying(false);
  remember();
}

function play() {
  if (timer) return pause();
  if (position >= frames.length - 1) show(0);
  setPlaying(true);
}

function jump(wanted) {
  setPlaying(false);
  show(wanted);
}

const actions = {
  play,
  first: () => jump(0),
  back: () => jump(position - 1),
  forward: () => jump(position + 1),
  last: () => jump(frames.length - 1),
};
const keys = { " ": "play", ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };

function onKey(event) {
  const action = keys[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  // Keys keep the meaning that they have for the focused element.
  if (event.key === " " && event.target.closest("a, button, summary, input[type=radio]")) return;
  if (event.target.closest("input[type=radio], textarea, select")) return;
  event.preventDefault();
  actions[action]();
}

function listen() {
  controls.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    if (button) actions[button.dataset.do]();
  });
  slider.addEventListener("input", () => jump(Number(slider.value)));
  for (const [index, link] of links.entries()) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      jump(index);
    });
  }
  document.addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", () => { if (document.hidden && timer) pause(); });
}

async function load() {
  let answer;
  try {
    const response = await fetch(viewer.dataset.frames);
    answer = await response.json();
    if (answer.error) throw new Error(answer.error);
    frames = answer.frames.map((frame) => ({ ...frame, image: drawn(frame.svg) }));
    await Promise.all(frames.map((frame) => frame.image.decode().catch(() => {})));
  } catch (error) {
    // Without frames, the page still shows one state and links to all others.
    controls.classList.add("plain");
    caption.textContent = `${caption.textContent} (The player did not load: ${error.message})`;
    return;
  }
  controls.replaceChildren(document.getElementById("playback").content.cloneNode(true));
  slider = document.getElementById("slider");
  playButton = controls.querySelector("[data-do=play]");
  listen();
  show(Number(viewer.dataset.position), true);
}

// An image cannot run scripts or load other files. Decoding it first avoids flicker.
function drawn(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  return image;
}

load();
