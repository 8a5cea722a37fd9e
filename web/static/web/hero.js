// Plays a recorded match beside the first words of the home page. Without scripts a drawing leads to it.
const STATE_MILLISECONDS = 1000;
const END_MILLISECONDS = 5000;
const hero = document.getElementById("hero");
const pauseButton = hero.querySelector("button");
const still = matchMedia("(prefers-reduced-motion: reduce)");
let pictures = [];
let first = 0;
let at = 0;
let playing = 0;

function showState() {
  hero.querySelector("img").src = pictures[at];
}

function step() {
  if (!document.hidden) {
    at = at === pictures.length - 1 ? first : at + 1;
    showState();
  }
  play();
}

function play() {
  pauseButton.textContent = "Pause";
  playing = setTimeout(step, at === pictures.length - 1 ? END_MILLISECONDS : STATE_MILLISECONDS);
}

function pause() {
  clearTimeout(playing);
  playing = 0;
  pauseButton.textContent = "Play";
}

async function begin() {
  const answer = await fetch(hero.dataset.frames);
  if (!answer.ok) return;
  pictures = (await answer.json()).frames.map(({ svg }) => svg && `data:image/svg+xml,${encodeURIComponent(svg)}`).filter(Boolean);
  if (pictures.length < 2) return;
  const picture = document.createElement("img");
  picture.alt = "";
  hero.querySelector("svg").replaceWith(picture);
  pauseButton.hidden = false;
  pauseButton.addEventListener("click", () => (playing ? pause() : play()));
  // An empty board shows nothing yet: the match begins when a quarter of its moves are made.
  first = Math.floor(pictures.length / 4);
  // People who want no motion see the end, and may still play it.
  at = still.matches ? pictures.length - 1 : first;
  showState();
  if (still.matches) pause(); else play();
}

addEventListener("load", () => { begin().catch(() => {}); });
