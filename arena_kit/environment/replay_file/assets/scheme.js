// Dark pictures on dark pages: WebKit draws the SVG of an image always as on a light page. Pictures of the arena are dark
// also where #dark ends their address.
const system = matchMedia("(prefers-color-scheme: dark)");
let isPrinting = false;
const isDark = () => !isPrinting && (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
const schemed = (address) => address.replace(/(#dark)?$/, isDark() ? "#dark" : "");

function dress() {
  for (const image of document.images) {
    const address = image.getAttribute("src") ?? "";
    if (!/^data:image\/svg|^[^:]+\.svg(#dark)?$/.test(address)) continue;
    // The same address again would load the picture again.
    if (schemed(address) !== address) image.src = schemed(address);
  }
}

function setPrinting(isOn) {
  isPrinting = isOn;
  dress();
}

new MutationObserver(dress).observe(document, { subtree: true, childList: true, attributeFilter: ["src", "data-theme"] });
system.addEventListener("change", dress);
addEventListener("beforeprint", () => setPrinting(true));
addEventListener("afterprint", () => setPrinting(false));
