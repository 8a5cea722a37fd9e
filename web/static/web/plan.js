// The form of a tournament: times in the zone of its reader. The server writes and reads UTC while `zone` is empty.
"use strict";
const zone = document.getElementById("id_zone");
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !zone.value && here && here !== "UTC") {
  for (const field of document.querySelectorAll("input[type=datetime-local]")) {
    if (!field.value) continue;
    const at = new Date(`${field.value}Z`);
    const local = new Date(at.getTime() - at.getTimezoneOffset() * 60000);
    field.value = local.toISOString().slice(0, 16);
  }
  zone.value = here;
}
if (zone?.value) document.querySelectorAll("[data-zone]").forEach((words) => { words.textContent = `your time (${zone.value})`; });
