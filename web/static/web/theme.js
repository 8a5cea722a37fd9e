// Runs before the page is drawn, so that a chosen theme never flashes. Storage may be refused: then there is no memory.
const theme = {
  read() { try { return localStorage.getItem("theme"); } catch { return null; } },
  write(name) { try { localStorage.setItem("theme", name); } catch { /* private mode */ } },
};
const chosen = theme.read();
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
