// Opens the operation or the object that a link leads to.
"use strict";

function openTarget() {
  const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (part?.matches("details")) part.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
