// The form of a new tournament begins in the time zone of its reader, unless the site has one, with its times moved there.
"use strict";
const zone = document.querySelector("select[data-new]");
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone?.value === "UTC" && [...zone.options].some((option) => option.value === here)) {
  zone.value = here;
  for (const field of document.querySelectorAll("input[type=datetime-local]")) {
    if (!field.value) continue;
    const at = new Date(`${field.value}Z`);
    field.value = new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
  }
}
// Baselines are offered of the environment that is chosen.
const environment = document.querySelector("select[name=environment]");
const groups = document.querySelectorAll("select[name^=agent_] optgroup");
const fit = () => groups.forEach((group) => {
  group.hidden = group.disabled = group.label !== environment.selectedOptions[0]?.text;
  const list = group.parentElement;
  if (group.disabled && group.contains(list.selectedOptions[0])) list.value = "";
});
if (groups.length) {
  environment.addEventListener("change", fit);
  fit();
}
