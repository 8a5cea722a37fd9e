// Shows what the reader's agent printed during the move that led to the state that the player shows.
{
  const told = JSON.parse(document.getElementById("told-output").textContent);
  const [printed, none] = ["printed", "printed-none"].map((id) => document.getElementById(id));
  document.getElementById("viewer").addEventListener("ply", ({ detail }) => {
    const text = told[detail] ?? "";
    printed.textContent = text;
    printed.hidden = !text;
    none.hidden = Boolean(text);
  });
}
