// Links to moves outside of the list of moves lead the player there, without loading the page again.
document.querySelector(".under").addEventListener("click", (event) => {
  const link = event.target.closest("[data-ply]");
  const move = link && document.querySelector(`#moves a[href="?ply=${link.dataset.ply}"]`);
  if (!move || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  move.click();
  document.getElementById("viewer").scrollIntoView({ block: "start" });
});
