// Keeps the bar, the sentence and the line in the graph at the state that the player shows.
// In a block, because the player has a `viewer` of its own.
{
  const viewer = document.getElementById("viewer");
  const told = JSON.parse(document.getElementById("told")?.textContent ?? "[]");
  const [share, unsolved, remark, here] = ["share", "unsolved", "remark", "here"].map((id) => document.getElementById(id));

  viewer.addEventListener("ply", ({ detail }) => {
    if (!told[detail]) return;
    const [percent, sentence] = told[detail];
    share.setAttribute("width", percent ?? 0);
    unsolved.setAttribute("visibility", percent === null ? "visible" : "hidden");
    remark.textContent = sentence;
    const x = detail * Number(here.dataset.step);
    here.setAttribute("x1", x);
    here.setAttribute("x2", x);
  });

  // The links to moves in the analysis lead the player there, without loading the page again.
  document.getElementById("analysis")?.addEventListener("click", (event) => {
    const link = event.target.closest("[data-ply]");
    const move = link && document.querySelector(`#moves a[href="?ply=${link.dataset.ply}"]`);
    if (!move || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    move.click();
    viewer.scrollIntoView({ block: "start" });
  });
}
