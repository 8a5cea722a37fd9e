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
}
