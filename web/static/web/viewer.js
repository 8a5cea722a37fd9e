// Steps through the states of a match. Pictures come from the server; names of players are set only as text.
const viewer = document.getElementById("viewer");
const [picture, caption, count, text, controls] = ["frame", "caption", "count", "text", "controls"].map((id) => document.getElementById(id));
const links = [...document.querySelectorAll("#moves a")];
const FRAME_MILLISECONDS = 900;
// A match of many states is played faster, in about a minute.
const MATCH_MILLISECONDS = 60000;
const SHORTEST_MILLISECONDS = 40;
// Pictures are decoded this many states ahead, which avoids flicker, and not all at once, which would take long.
const AHEAD = 30;
let frames = [];
let current = links.find((link) => link.hasAttribute("aria-current"));
let position = 0;
let timer = null;
let slider, playButton;
const board = document.getElementById("board");
const holder = document.createElement("div");
let root = null;

function show(wanted, isFirst = false) {
  position = Math.max(0, Math.min(frames.length - 1, wanted));
  const frame = frames[position];
  picture.src = imageOf(position).src;
  for (let ahead = 1; ahead <= AHEAD; ahead++) imageOf(position + ahead);
  picture.alt = picture.alt.replace(/\d+ of \d+/, `${position} of ${frames.length - 1}`);
  if (root) {
    board.hidden = !frame.html;
    picture.hidden = !board.hidden;
    drawBoard(frame.html);
  }
  count.textContent = `${position} / ${frames.length - 1}`;
  // During playback, screen readers read the captions if there is time; the board is read only when stepping.
  text.setAttribute("aria-live", timer ? "off" : "polite");
  caption.setAttribute("aria-live", timer && pace() < FRAME_MILLISECONDS ? "off" : "polite");
  caption.textContent = frame.caption;
  text.textContent = frame.text;
  slider.value = position;
  slider.setAttribute("aria-valuetext", `${position}: ${frame.caption}`);
  mark(links[position]);
  if (!timer && !isFirst) remember();
}

// A classic environment draws HTML. The server has made it harmless; a shadow root keeps its styles apart.
function drawBoard(html) {
  // The policy of the site forbids styles in HTML, not those that a script sets.
  holder.innerHTML = html.replace(/<[a-z][^>]*>/gi, (tag) => tag.replace(' style="', ' data-style="'));
  for (const element of holder.querySelectorAll("[data-style]")) element.style.cssText = element.dataset.style;
  board.setAttribute("aria-label", picture.alt);
}

function styleBoard() {
  const told = (id) => JSON.parse(document.getElementById(id).textContent);
  const styles = told("sheets").map((address) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = address;
    return link;
  });
  root = board.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = told("rules").map((rule) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rule);
    return sheet;
  });
  root.append(...styles, holder);
}

function mark(link) {
  const hadFocus = current && current === document.activeElement;
  if (current) {
    current.removeAttribute("aria-current");
    current.tabIndex = -1;
  }
  link.setAttribute("aria-current", "step");
  link.tabIndex = 0;
  current = link;
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
  timer = isPlaying ? setTimeout(tick, pace() / speed()) : null;
  playButton.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
  playButton.classList.toggle("playing", isPlaying);
}

const pace = () => Math.max(SHORTEST_MILLISECONDS, Math.min(FRAME_MILLISECONDS, MATCH_MILLISECONDS / frames.length));
const speed = () => Number(controls.querySelector("[name=speed]:checked").value);

function tick() {
  show(position + 1);
  if (position < frames.length - 1) timer = setTimeout(tick, pace() / speed());
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
    frames = answer.frames;
    await imageOf(Number(viewer.dataset.position)).decode().catch(() => {});
  } catch (error) {
    // Without frames, the page still shows one state and links to all others.
    controls.classList.add("plain");
    caption.textContent = `${caption.textContent} (The player did not load: ${error.message})`;
    return;
  }
  controls.replaceChildren(document.getElementById("playback").content.cloneNode(true));
  slider = document.getElementById("slider");
  playButton = controls.querySelector("[data-do=play]");
  if (board) styleBoard();
  for (const link of links) link.tabIndex = -1;
  listen();
  show(Number(viewer.dataset.position), true);
}

function imageOf(index) {
  const frame = frames[index];
  if (frame && !frame.image) {
    frame.image = drawn(frame.svg);
    frame.image.decode().catch(() => {});
  }
  return frame?.image;
}

// An image cannot run scripts or load other files. Decoding it first avoids flicker.
function drawn(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  return image;
}

load();
