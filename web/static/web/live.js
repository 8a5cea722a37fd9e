// What changes while a page is open: the page asks for its part with `data-live` again when server-sent events have news
// of it, and puts in place what they bring. Where they do not come, it asks every two seconds.
const POLL_SECONDS = 2;
// A stream that brings its parts itself needs the page less often.
const PROGRESS_SECONDS = 4;
const part = () => document.querySelector("[data-live]");
// Firefox gives a stream up after one outage: the page opens a new one.
const RETRY_SECONDS = 40;
let events = null;
let polling = 0;
let progress = "";
let asking = 0;

// Of strangers who ask at the same time all but one get the last answer, and this may be the last news: each asks again,
// but not where a new answer would take a form from under the hands of a person.
function ask(seconds = 0.01, again = true) {
  if (seconds > 1 && asking) return;
  clearTimeout(asking);
  asking = setTimeout(() => {
    asking = 0;
    if (!part()) return;
    htmx.trigger(part(), "news");
    if (again && !part().querySelector("form")) ask(PROGRESS_SECONDS * (0.5 + Math.random()), false);
  }, seconds * 1000);
}

function poll() {
  if (!polling) polling = setInterval(() => { if (!document.hidden) ask(); }, POLL_SECONDS * 1000);
}

// Puts a part in its place; focus and open parts stay.
function put({ id, html }) {
  const old = document.getElementById(id);
  if (!old || !part()) return;
  const focused = old.contains(document.activeElement) ? nameOf(document.activeElement) : "";
  const open = [...old.querySelectorAll("details[id][open]")].map((one) => one.id);
  const made = document.createElement("template");
  made.innerHTML = html;
  old.replaceWith(made.content);
  const now = document.getElementById(id);
  htmx.process(now);
  showLocalTimes(now);
  for (const one of open) document.getElementById(one)?.setAttribute("open", "");
  if (focused) [...now.querySelectorAll(FOCUSED)].find((one) => nameOf(one) === focused)?.focus({ preventScroll: true });
}

function listen() {
  if (events || document.hidden || !part()) return;
  if (!part().dataset.events || !window.EventSource) return poll();
  events = new EventSource(part().dataset.events);
  let brings = false;
  events.addEventListener("step", () => ask());
  events.addEventListener("part", ({ data }) => { brings = true; put(JSON.parse(data)); });
  for (const kind of ["phase", "progress"]) events.addEventListener(kind, ({ data }) => {
    if (data !== progress) ask(brings ? PROGRESS_SECONDS : undefined);
    progress = data;
  });
  events.addEventListener("end", () => { events.close(); ask(); });
  // The browser tries again by itself where no process answers; meanwhile the page asks.
  let failures = 0;
  events.addEventListener("open", () => { failures = 0; clearInterval(polling); polling = 0; });
  events.addEventListener("error", () => {
    failures += 1;
    const isClosed = events.readyState === EventSource.CLOSED;
    if (isClosed || failures > 1) poll();
    if (isClosed) {
      events = null;
      setTimeout(listen, RETRY_SECONDS * 1000);
    }
  });
}

// A page that is not looked at asks for nothing.
document.addEventListener("visibilitychange", () => {
  // When it is looked at again, the stream is tried again.
  if (!document.hidden) { ask(); return listen(); }
  events?.close();
  clearInterval(polling);
  clearTimeout(asking);
  events = null;
  polling = asking = 0;
});
listen();
