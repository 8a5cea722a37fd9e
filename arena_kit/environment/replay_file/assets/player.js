// Steps through the states of a match: on the site, in embedded pages and in files that work by themselves.
// Names of players are set only as text.
const FRAME_MILLISECONDS = 900;
// A match of many states is played faster, in about a minute.
const MATCH_MILLISECONDS = 60000;
const SHORTEST_MILLISECONDS = 40;
// Pictures are decoded this many states ahead, which avoids flicker, and not all at once, which would take long.
const AHEAD = 30;
// Decoded pictures take memory, so at most this many are kept.
const MOST_DECODED = 400;
const CONTROLS = `
  <div class="track"><input id="slider" type="range" min="0" step="1"></div>
  <div class="buttons">
    <button type="button" data-do="first" aria-label="First" title="First (Home)"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 5v14M19 5 9 12l10 7z"/></svg></button>
    <button type="button" data-do="back" aria-label="Back" title="Back (left arrow)"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M16 5 7 12l9 7z"/></svg></button>
    <button type="button" data-do="play" class="play" aria-label="Play" title="Play or pause (space)"><svg viewBox="0 0 24 24" aria-hidden="true"><path class="play-icon" d="m8 4 12 8-12 8z"/><path class="pause-icon" d="M8 5v14M16 5v14"/></svg></button>
    <button type="button" data-do="forward" aria-label="Forward" title="Forward (right arrow)"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="m8 5 9 7-9 7z"/></svg></button>
    <button type="button" data-do="last" aria-label="Last" title="Last (End)"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M18 5v14M5 5l10 7-10 7z"/></svg></button>
  </div>
  <fieldset class="speed"><legend class="sr">Speed</legend>
    <label><input type="radio" name="speed" value="0.5"><span>0.5×</span></label><label><input type="radio" name="speed" value="1" checked><span>1×</span></label><label><input type="radio" name="speed" value="2"><span>2×</span></label></fieldset>
  <p class="muted keys"><kbd>Space</kbd> plays or pauses, <kbd>←</kbd> <kbd>→</kbd> go one step, <kbd>Home</kbd> <kbd>End</kbd> go to the start or the end.</p>`;
// What `load` finds in the page. board: of classic environments only, which draw HTML.
let viewer, picture, caption, count, text, controls, board, links, current, slider, playButton;
let frames = [];
let position = 0;
let timer = null;
let loads = 0;
// Whether the match plays without having been asked to: then its moves are not read out, and the address stays.
let unasked = false;
const drawing = document.createElement("div");
let root = null;
const decoded = [];

const captionOf = (index) => frames[index].caption ?? links[index].querySelector("span:last-child").textContent;

function show(wanted, isFirst = false) {
  position = Math.max(0, Math.min(frames.length - 1, wanted));
  const { ply } = frames[position];
  const last = frames.at(-1).ply;
  draw(position);
  for (let ahead = 1; ahead <= AHEAD && position + ahead < frames.length; ahead++) image(position + ahead);
  if (root) drawBoard(frames[position].html);
  count.textContent = `${ply} / ${last}`;
  // During playback, screen readers read the captions if there is time; the board is read only when stepping.
  text.setAttribute("aria-live", timer ? "off" : "polite");
  caption.setAttribute("aria-live", timer && (unasked || pace() < FRAME_MILLISECONDS) ? "off" : "polite");
  caption.textContent = captionOf(position);
  text.textContent = frames[position].text;
  slider.value = position;
  slider.setAttribute("aria-valuetext", `${ply}: ${captionOf(position)}`);
  mark(links[position]);
  viewer.dispatchEvent(new CustomEvent("ply", { detail: ply }));
  if (!timer && !isFirst) remember();
}

function draw(index) {
  const { ply } = frames[index];
  const source = image(index).src;
  picture.hidden = !source;
  if (!source) return;
  picture.src = source;
  picture.alt = picture.alt.replace(/\d+ of \d+/, `${ply} of ${frames.at(-1).ply}`);
}

// An image cannot run scripts or load other files.
function image(index) {
  const frame = frames[index];
  if (frame.image) return frame.image;
  const made = new Image();
  if (frame.svg) made.src = schemed(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(frame.svg)}`);
  frame.image = made;
  decoded.push(frame);
  if (decoded.length > MOST_DECODED) decoded.shift().image = null;
  made.decode().catch(() => {});
  return made;
}

// A classic environment draws HTML. The server has made it harmless; a shadow root keeps its styles apart.
function drawBoard(html) {
  board.hidden = !html;
  picture.hidden = Boolean(html);
  // The policy of the site forbids styles in HTML, not those that a script sets.
  drawing.innerHTML = html.replace(/<[a-z][^>]*>/gi, (tag) => tag.replace(' style="', ' data-style="'));
  for (const element of drawing.querySelectorAll("[data-style]")) element.style.cssText = element.dataset.style;
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
  root.append(...styles, drawing);
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

// The address links to the state in view; playback does not rewrite it at every frame. Pages that the server draws by
// state have it in the query, all others behind the #.
function remember() {
  const url = new URL(location);
  const { ply } = frames[position];
  if (viewer.dataset.frames) {
    url.searchParams.set("ply", ply);
    url.hash = "";
  } else {
    const words = new URLSearchParams(url.hash.slice(1));
    words.set("ply", ply);
    url.hash = words;
  }
  try {
    history.replaceState(null, "", url);
  } catch {
    // Some browsers keep the addresses of files as they are.
  }
}

// The state that the address asks for, as #ply=12 or ?ply=12; null if it asks for none.
function asked() {
  for (const words of [location.hash.slice(1), location.search]) {
    const ply = new URLSearchParams(words).get("ply");
    if (/^\d{1,9}$/.test(ply ?? "")) return Number(ply);
  }
  return null;
}

// The last state that is not after the wanted one: a file may not have every state.
function nearest(ply) {
  const after = frames.findIndex((frame) => frame.ply > ply);
  return after < 0 ? frames.length - 1 : Math.max(0, after - 1);
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
  if (!unasked) remember();
}

function playByItself() {
  if (document.hidden) return document.addEventListener("visibilitychange", playByItself, { once: true });
  unasked = true;
  return setPlaying(true);
}

function play() {
  unasked = false;
  if (timer) return pause();
  if (position >= frames.length - 1) show(0);
  setPlaying(true);
}

function jump(wanted) {
  unasked = false;
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
  // Nothing moves behind a dialog.
  if (document.querySelector("dialog[open]")) return;
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
}

// The states: within the page where it works by itself, else from the server.
async function read() {
  const within = document.getElementById("replay");
  if (within) {
    const { shared, pictures = {}, states } = JSON.parse(within.textContent);
    const drawn = (html) => html.replace(/ src="pictures\/([^"]*)"/g, (_, name) => ` src="${pictures[name] ?? ""}"`);
    return states.map((state) => ({ ...state, svg: state.svg.replace("<style/>", () => shared), html: drawn(state.html ?? "") }));
  }
  const response = await fetch(viewer.dataset.frames);
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error);
  return answer.frames;
}

// Begins with the replay that the page holds; a page of several calls it again for each that it puts in place.
async function load() {
  const mine = ++loads;
  clearTimeout(timer);
  timer = null;
  frames = [];
  decoded.length = 0;
  [viewer, picture, caption, count, text, controls, board] = ["viewer", "frame", "caption", "count", "text", "controls", "board"].map((id) => document.getElementById(id));
  links = [...document.querySelectorAll("#moves a")];
  current = links.find((link) => link.hasAttribute("aria-current"));
  try {
    const found = await read();
    if (mine !== loads) return;
    frames = found;
    await image(nearest(asked() ?? Number(viewer.dataset.position))).decode().catch(() => {});
  } catch (error) {
    if (mine !== loads) return;
    // Without frames, the page still shows one state and links to all others.
    controls.classList.add("plain");
    caption.textContent = `${caption.textContent} (The player did not load: ${error.message})`;
    return;
  }
  if (mine !== loads) return;
  controls.innerHTML = CONTROLS;
  slider = document.getElementById("slider");
  slider.max = frames.length - 1;
  const marks = document.getElementById("marks");
  if (marks) slider.before(marks.content);
  slider.setAttribute("aria-label", controls.dataset.slider);
  playButton = controls.querySelector("[data-do=play]");
  if (board) styleBoard();
  for (const link of links) link.tabIndex = -1;
  listen();
  show(nearest(asked() ?? Number(viewer.dataset.position)), true);
  if ("plays" in viewer.dataset && asked() === null && !matchMedia("(prefers-reduced-motion: reduce)").matches) playByItself();
}

const isReady = () => Boolean(playButton?.isConnected);
document.addEventListener("keydown", (event) => { if (isReady()) onKey(event); });
document.addEventListener("visibilitychange", () => { if (document.hidden && timer) pause(); });
window.addEventListener("hashchange", () => { if (isReady() && asked() !== null) jump(nearest(asked())); });
load();
