// Runs before the page is drawn, so that the wrong theme never flashes. If storage is blocked, the choice is not kept.
const theme = {
  read() { try { return localStorage.getItem("theme"); } catch { return null; } },
  write(name) { try { localStorage.setItem("theme", name); } catch { /* private mode */ } },
};
const chosen = theme.read();
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
