// What the agent is writing, while it writes: a turn at the end of the conversation that is no entry. Once the step has ended
// it stays until the page has fetched what was committed, so that the one takes the place of the other.
const SILENT = 8000; // ms without a fragment, after which it goes by itself: frames may be lost
const turn = document.getElementById("writing"), log = document.getElementById("log");
let step = "", over = false, timer = null;

function hide() {
  clearTimeout(timer);
  turn.hidden = true;
  turn.querySelector("p").textContent = "";
  step = "";
  over = false;
}

export function hear(frame) {
  if (!turn || frame.session !== turn.dataset.session) return;
  clearTimeout(timer);
  timer = setTimeout(hide, frame.text ? SILENT : 1500);
  if (!frame.text) { over = frame.step === step; return; }
  const bottom = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  step = frame.step;
  over = false;
  turn.querySelector("p").textContent = frame.text;
  turn.hidden = false;
  if (bottom) log.scrollTop = log.scrollHeight;
}

export function settle() {
  if (turn && over) hide();
}
