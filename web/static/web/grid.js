// Makes a table of many links one stop of the Tab key, with arrow keys inside. Without scripts every link is a stop.
"use strict";
document.querySelectorAll("table[data-grid]").forEach((table) => {
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.querySelector("a")));
  const links = [...table.tBodies[0].querySelectorAll("td a")];
  links.slice(1).forEach((link) => { link.tabIndex = -1; });
  table.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const cell = event.target.closest("td");
    if (!step || !cell) return;
    event.preventDefault();
    let [row, column] = [cell.parentNode.sectionRowIndex, cell.cellIndex];
    // Skips cells of agents that have not met.
    do {
      row += step[0];
      column += step[1];
    } while (column > 0 && rows[row]?.[column] === null);
    const next = column > 0 && rows[row]?.[column];
    if (!next) return;
    links.forEach((link) => { link.tabIndex = -1; });
    next.tabIndex = 0;
    next.focus();
  });
});
