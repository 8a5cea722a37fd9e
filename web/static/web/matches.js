// Arrow keys move between the matches of one kind of result, so that a thousand matches are five stops of the Tab key.
function prepare(root) {
  for (const list of root.querySelectorAll(".matches")) {
    list.querySelectorAll("a").forEach((link, index) => { link.tabIndex = index ? -1 : 0; });
  }
}

function target(list, link, key) {
  const links = [...list.querySelectorAll("a")];
  const index = links.indexOf(link);
  const columns = links.findIndex((other) => other.offsetTop > links[0].offsetTop);
  const row = columns < 0 ? links.length : columns;
  const wanted = { ArrowLeft: index - 1, ArrowRight: index + 1, ArrowUp: index - row, ArrowDown: index + row, Home: 0, End: links.length - 1 }[key];
  return wanted === undefined ? undefined : links[wanted] ?? link;
}

document.addEventListener("keydown", (event) => {
  const list = event.target.closest?.(".matches");
  if (!list || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const next = target(list, event.target, event.key);
  if (!next) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

document.addEventListener("htmx:afterSwap", () => prepare(document));
prepare(document);
