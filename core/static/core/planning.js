// Forms by which tournaments are planned.
"use strict";

// The formats of the chosen environment, and the settings of the chosen format alone. Without scripts all are there, with
// what they are for. Who may only look sees no boxes.
const format = document.getElementById("id_format");
if (format) {
  const boxes = [...document.querySelectorAll("[data-formats]")];
  const chosen = document.getElementById("id_environment");
  const alone = (box) => (box?.dataset.alone ?? "").split(" ");
  const show = () => {
    const isAlone = Boolean(chosen?.value) && alone(chosen).includes(chosen.value);
    for (const option of chosen ? format.options : []) {
      option.hidden = option.disabled = alone(format).includes(option.value) !== isAlone;
    }
    if (format.selectedOptions[0]?.disabled) format.value = format.querySelector("option:enabled").value;
    for (const box of boxes) {
      const fits = box.dataset.formats.split(" ").includes(format.value);
      // A setting that is not shown is not sent; it is there again when its format is chosen again.
      box.disabled = !fits && box.name.startsWith("settings.");
      box.closest(".form-row, .field").classList.toggle("hidden", !fits);
    }
  };
  document.querySelectorAll("[data-is-for]").forEach((words) => { words.hidden = true; });
  format.addEventListener("change", show);
  chosen?.addEventListener("change", show);
  // Also after a way back, when browsers fill in what was chosen.
  window.addEventListener("pageshow", show);
  show();
}
