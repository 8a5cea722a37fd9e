// Keeps the bar, its sentence and the lines in the graphs at the state that the player shows.
// In a block, because the player has a `viewer` of its own.
{
  const told = JSON.parse(document.getElementById("told")?.textContent ?? "[]");
  const [bar, remark] = [document.querySelector(".value"), document.getElementById("remark")];

  document.getElementById("viewer").addEventListener("ply", ({ detail }) => {
    if (!told[detail]) return;
    const [percent, sentence] = told[detail];
    bar.querySelector(".one").setAttribute("height", percent ?? 0);
    bar.classList.toggle("unknown", percent === null);
    remark.textContent = sentence;
    for (const here of document.querySelectorAll(".values .here")) {
      const x = detail * Number(here.dataset.step);
      here.setAttribute("x1", x);
      here.setAttribute("x2", x);
    }
  });
}
