// Plays recorded matches, one after another. Without scripts a drawing leads to the first.
const STATE_MILLISECONDS = 1000;
const END_MILLISECONDS = 5000;
const hero = document.getElementById("hero");
const films = [...hero.querySelectorAll("template")].map((film) => film.dataset);
const [pauseButton, nextButton] = hero.querySelectorAll("button");
const still = matchMedia("(prefers-reduced-motion: reduce)");
let film = 0;
let pictures = [];
// By state, player 1's share of the bar in percent; none for a match without an analysis.
let shares = [];
const bar = hero.querySelector(".value");
let at = 0;
let playing = 0;
let asked = false;

function showState() {
  hero.querySelector("img").src = pictures[at];
  bar.toggleAttribute("hidden", !shares.length);
  bar.classList.toggle("unknown", (shares[at] ?? null) === null);
  bar.querySelector(".one").setAttribute("height", shares[at] ?? 0);
}

function step() {
  if (document.hidden) return play();
  if (at === pictures.length - 1) return show((film + 1) % films.length);
  at += 1;
  showState();
  return play();
}

function play() {
  pauseButton.textContent = "Pause";
  playing = setTimeout(() => Promise.resolve(step()).catch(() => {}), at === pictures.length - 1 ? END_MILLISECONDS : STATE_MILLISECONDS);
}

function pause() {
  clearTimeout(playing);
  playing = 0;
  pauseButton.textContent = "Play";
}

async function show(number) {
  pause();
  const answer = await fetch(films[number].frames);
  if (!answer.ok) return;
  const told = await answer.json();
  const found = told.frames.map(({ svg }) => svg && `data:image/svg+xml,${encodeURIComponent(svg)}`).filter(Boolean);
  if (found.length < 2) return;
  [film, pictures, shares] = [number, found, told.shares ?? []];
  // The still picture that stands here until the first film has come.
  const drawing = hero.querySelector("a svg, a img[data-still]");
  if (drawing) {
    drawing.replaceWith(Object.assign(document.createElement("img"), { alt: "" }));
    for (const button of films.length > 1 ? [pauseButton, nextButton] : [pauseButton]) button.hidden = false;
  }
  for (const link of hero.querySelectorAll("a")) link.href = films[film].match;
  hero.querySelector("a").setAttribute("aria-label", `Watch ${films[film].names}`);
  hero.querySelector(".names").textContent = films[film].names;
  hero.querySelector("figcaption .muted").textContent = films[film].environment;
  // An empty board shows nothing yet: the match begins when a quarter of its moves are made.
  // People who want no motion see the end, and may still play it.
  const rests = still.matches && !asked;
  at = rests ? pictures.length - 1 : Math.floor(pictures.length / 4);
  showState();
  if (rests) pause(); else play();
}

pauseButton.addEventListener("click", () => {
  if (playing) return pause();
  asked = true;
  if (at === pictures.length - 1) at = Math.floor(pictures.length / 4);
  showState();
  return play();
});
nextButton.addEventListener("click", () => { show((film + 1) % films.length).catch(() => {}); });
addEventListener("load", () => { show(0).catch(() => {}); });
