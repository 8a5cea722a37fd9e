// Marks the bar of the move that led to the state that the player shows.
{
  const here = document.getElementById("time-here");
  if (here) document.getElementById("viewer").addEventListener("ply", ({ detail }) => {
    here.setAttribute("visibility", detail ? "visible" : "hidden");
    here.setAttribute("x", (detail - 1) * Number(here.dataset.step));
  });
}
