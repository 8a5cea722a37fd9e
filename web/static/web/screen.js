// Keeps the screen of a hall awake while its page is shown. Browsers let go of the lock when the page is hidden.
const awake = () => { if (!document.hidden) navigator.wakeLock?.request("screen").catch(() => {}); };
document.addEventListener("visibilitychange", awake);
awake();
