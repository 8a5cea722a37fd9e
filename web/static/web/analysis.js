// Keeps the bar, its sentence and the lines in the graphs at the state that the player shows.
// In a block, because the player has a `viewer` of its own.
{
  const told = JSON.parse(document.getElementById("told")?.textContent ?? "[]");
  const [share, unsolved, remark] = ["share", "unsolved", "remark"].map((id) => document.getElementById(id));

  document.getElementById("viewer").addEventListener("ply", ({ detail }) => {
    if (!told[detail]) return;
    const [percent, sentence] = told[detail];
    share.setAttribute("width", percent ?? 0);
    unsolved.setAttribute("visibility", percent === null ? "visible" : "hidden");
    remark.textContent = sentence;
    for (const here of document.querySelectorAll(".values .here")) {
      const x = detail * Number(here.dataset.step);
      here.setAttribute("x1", x);
      here.setAttribute("x2", x);
    }
  });
}
