// Puts the match that is chosen in a ladder's report where player.js, the next script of the page, finds it.
const choice = document.getElementById("match");
const stage = document.getElementById("stage");

// The match that the address asks for, as #match=3; the first one if it asks for none or for one that is not here.
function chosen() {
  const wanted = new URLSearchParams(location.hash.slice(1)).get("match");
  const numbers = [...choice.options].map((option) => option.value);
  return numbers.includes(wanted) ? wanted : numbers[0];
}

function put() {
  const number = chosen();
  if (stage.dataset.match === number) return false;
  stage.dataset.match = number;
  stage.replaceChildren(document.getElementById(`match-${number}`).content.cloneNode(true));
  choice.value = number;
  return true;
}

// Links in the tables lead to the match; the list keeps the focus while it is used.
function lead() {
  if (document.activeElement !== choice) stage.querySelector("h2").focus();
}

document.getElementById("unscripted").hidden = true;
document.getElementById("pick").hidden = false;
put();
choice.addEventListener("change", () => { location.hash = `match=${choice.value}`; });
window.addEventListener("hashchange", () => {
  if (put()) load();
  lead();
});
for (const link of document.querySelectorAll("table a")) {
  link.addEventListener("click", () => { if (link.hash === location.hash) lead(); });
}
