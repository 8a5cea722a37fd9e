// The page that shows the API: Swagger UI on our own description, acting as who is logged in.
"use strict";

const place = document.getElementById("api");
const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

// Swagger UI knows a dark look by this class; ours is what the visitor has chosen, else what the system prefers.
function follow() {
  const chosen = root.dataset.theme;
  root.classList.toggle("dark-mode", chosen ? chosen === "dark" : prefersDark.matches);
}

follow();
prefersDark.addEventListener("change", follow);
new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });

window.SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  requestInterceptor(request) {
    if (new URL(request.url, location.href).origin === location.origin) {
      request.headers["X-CSRFToken"] = place.dataset.csrf;
    }
    return request;
  },
});
