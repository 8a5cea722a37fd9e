// Forms by which tournaments are planned.
"use strict";

// The settings of the chosen format alone. Without scripts all are there, with what they are for. Who may only look sees
// no boxes.
const format = document.getElementById("id_format");
if (format) {
  const boxes = [...document.querySelectorAll("[data-formats]")];
  const show = () => {
    for (const box of boxes) {
      const fits = box.dataset.formats.split(" ").includes(format.value);
      // What is not shown is not sent; it is there again when its format is chosen again.
      box.disabled = !fits;
      box.closest(".form-row, .field").classList.toggle("hidden", !fits);
    }
  };
  document.querySelectorAll("[data-is-for]").forEach((words) => { words.hidden = true; });
  format.addEventListener("change", show);
  // Also after a way back, when browsers fill in what was chosen.
  window.addEventListener("pageshow", show);
  show();
}
