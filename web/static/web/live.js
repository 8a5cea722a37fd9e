// While a rollout or a batch is at work its news come as server-sent events; the page then asks for its part that they
// change, the one with `data-live`. Where they do not come, it asks every two seconds.
const POLL_SECONDS = 2;
const part = () => document.querySelector("[data-live]");
let events = null;
let polling = 0;
let progress = "";
let asking = 0;

function ask() {
  clearTimeout(asking);
  asking = setTimeout(() => { if (part()) htmx.trigger(part(), "news"); }, 50);
}

function poll() {
  if (!polling) polling = setInterval(() => { if (!document.hidden) ask(); }, POLL_SECONDS * 1000);
}

function listen() {
  if (events || polling || document.hidden || !part()) return;
  if (!part().dataset.events || !window.EventSource) return poll();
  events = new EventSource(part().dataset.events);
  events.addEventListener("step", ask);
  for (const kind of ["phase", "progress"]) events.addEventListener(kind, ({ data }) => {
    if (data !== progress) ask();
    progress = data;
  });
  events.addEventListener("end", () => { events.close(); ask(); });
  events.addEventListener("error", () => { if (events.readyState === EventSource.CLOSED) poll(); });
}

// A page that is not looked at asks for nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { events?.close(); events = null; } else { ask(); listen(); }
});
listen();
