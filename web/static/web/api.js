// Shows the API in Swagger UI; requests use the visitor's session.
"use strict";

const place = document.getElementById("api");
const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

// Swagger UI is dark with this class; the visitor's choice comes before the system's preference.
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
