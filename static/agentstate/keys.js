// Keyboard shortcuts. Never while somebody types, never with a modifier that belongs to the browser, and none of them decides.

const $ = (id) => document.getElementById(id);
const typing = (element) => element.matches("input, textarea, select, [contenteditable]");
const stops = () => [...document.querySelectorAll(".wall a.go, .queue a.item, .hits a.go, .alerts a.go, .ledger a.go")];

function move(step) {
  const all = stops();
  if (!all.length) return;
  const current = document.activeElement && all.indexOf(document.activeElement);
  const start = current >= 0 ? current : all.findIndex((link) => link.hasAttribute("aria-current"));
  all[Math.min(all.length - 1, Math.max(0, (start < 0 ? (step > 0 ? -1 : all.length) : start) + step))].focus();
}

const plain = {
  j: () => move(1),
  k: () => move(-1),
  c: () => $("claim")?.click(),
  z: () => $("undo")?.click(),
  e: () => document.querySelector("#fields .in")?.focus(),
  "/": () => document.querySelector(".find input")?.focus(),
  w: () => take("mode-whisper", "whisper-text"),
  b: () => take("mode-barge", "barge-text"),
  t: () => take("mode-take", "say-text", "take-reason"),
  h: () => unfold("hand-back", "summary"),
  g: () => unfold("assign", "assign-to"),
  n: () => $("next-work")?.focus(),
  ".": () => $("pause")?.click(),
  "?": () => open(),
};
const shifted = { A: "approve", X: "reject", R: "respond", S: "to-stops" };

// Chooses how one takes part in the session, and goes to where one types.
function take(mode, ...fields) {
  const radio = $(mode);
  if (!radio) return;
  radio.checked = true;
  fields.map($).find((field) => field)?.focus();
}

// Opens a part of the page, and goes to where one types or chooses.
function unfold(part, field) {
  if (!$(part)) return;
  $(part).open = true;
  $(field).focus();
}

function open() {
  const sheet = $("keys");
  if (!sheet.open) sheet.showModal();
}

export function begin() {
  for (const button of document.querySelectorAll("[data-open=keys]")) { button.hidden = false; button.addEventListener("click", open); }
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target) || $("keys").open) return;
    const act = event.shiftKey && shifted[event.key] ? () => $(shifted[event.key])?.focus() : plain[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
