// Figures that count: time left to a deadline, time since an instant. They count by the server's clock as the page last saw it.

const began = performance.now();
const serverThen = Date.parse(document.body.dataset.now);
export const now = () => serverThen + (performance.now() - began);

export const age = (ms) => `${(Math.max(0, ms) / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;

export function span(ms) {
  const seconds = Math.floor(Math.abs(ms) / 1000), minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
  const two = (n) => String(n).padStart(2, "0");
  return hours ? `${hours}:${two(minutes % 60)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function deadline(timer) {
  const until = Date.parse(timer.dataset.until), whole = Math.max(1000, until - Date.parse(timer.dataset.asked));
  const left = until - now(), over = left <= 0;
  timer.classList.toggle("over", over);
  timer.classList.toggle("soon", !over && (left < 180_000 || left < whole / 4));
  timer.querySelector(".f").textContent = over ? `${span(left)} over` : span(left) + timer.dataset.tail;
  timer.querySelector(".a")?.setAttribute("stroke-dasharray", `${Math.max(0, Math.round((100 * left) / whole))} 100`);
  speak(timer, left);
}

// Screen readers get words, and only when they change at five minutes, one minute and overdue.
function speak(timer, left) {
  const words = left <= 0 ? "overdue" : left < 60_000 ? "less than a minute left" : left < 300_000 ? "less than 5 minutes left" : null;
  const spoken = timer.querySelector(".sr");
  if (words && spoken.textContent !== words) spoken.textContent = words;
}

// While nothing is heard, a countdown would pretend: it says the instant instead.
export function freeze() {
  for (const timer of document.querySelectorAll("[data-until]"))
    timer.querySelector(".f").textContent = `until ${new Date(timer.dataset.until).toISOString().slice(11, 16)}`;
}

export function tick() {
  for (const timer of document.querySelectorAll("[data-until]")) deadline(timer);
  for (const clock of document.querySelectorAll("[data-since]")) {
    const text = span(now() - Date.parse(clock.dataset.since));
    if (clock.textContent !== text) clock.textContent = text;
  }
}
