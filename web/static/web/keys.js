// The list of a page's keys: a button and the key ? open it. A native dialog keeps the focus within, and gives it back.
const list = document.getElementById("keys");
const opener = document.querySelector(".keys-button");

function toggle() {
  if (list.open) list.close();
  else list.showModal();
}

opener.hidden = false;
opener.addEventListener("click", toggle);
// A click beside the list closes it. What is hit then is the dialog, as between its edge and its words.
list.addEventListener("click", (event) => {
  const { left, right, top, bottom } = list.getBoundingClientRect();
  const isWithin = event.clientX >= left && event.clientX <= right && event.clientY >= top && event.clientY <= bottom;
  if (event.target === list && !isWithin) list.close();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "?" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input:not([type=range], [type=radio], [type=checkbox]), textarea, select, [contenteditable]")) return;
  event.preventDefault();
  toggle();
});
