// Gives the video of an episode a bar below the picture: the browser's own controls would cover its last row.
{
  const dress = (video) => {
    if (!video.controls) return;
    video.controls = false;
    const bar = document.createElement("div");
    bar.className = "clip";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small";
    const seek = document.createElement("input");
    Object.assign(seek, { type: "range", min: 0, max: 1000, step: 1, value: 0 });
    seek.setAttribute("aria-label", `Position: ${video.getAttribute("aria-label")}`);
    const name = () => { button.textContent = video.paused ? "Play" : "Pause"; };
    const toggle = () => { if (video.paused) video.play().catch(name); else video.pause(); };
    button.addEventListener("click", toggle);
    video.addEventListener("click", toggle);
    for (const event of ["play", "pause", "ended"]) video.addEventListener(event, name);
    video.addEventListener("timeupdate", () => { if (video.duration) seek.value = 1000 * video.currentTime / video.duration; });
    const jump = () => { video.currentTime = seek.value / 1000 * video.duration; };
    seek.addEventListener("input", () => {
      if (video.duration) { jump(); return; }
      video.addEventListener("loadedmetadata", jump, { once: true });
      video.load();
    });
    name();
    bar.append(button, seek);
    video.after(bar);
  };
  const all = (root) => root.querySelectorAll(".recording video").forEach(dress);
  all(document);
  // An episode that another one takes the place of stops, so that it does not play on unseen.
  document.addEventListener("change", ({ target }) => {
    if (target.name === "recording") document.querySelectorAll(".recording video").forEach((video) => video.pause());
  });
  document.addEventListener("htmx:load", ({ target }) => all(target.parentElement ?? document));
}
