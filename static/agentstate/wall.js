// The wall: rows by key, in their order, and never moved under a pointer or away from the focus.
import { morph } from "./morph.js";
import { page, pause } from "./live.js";

const $ = (id) => document.getElementById(id);
const table = $("wall"), pill = $("held"), button = $("pause");
const held = new Map(); // rows that wait until nobody points at the table: id -> fresh row

const group = (row) => (row.classList.contains("need") ? $("need") : $("calm"));
const busy = () => table.matches(":hover") || table.contains(document.activeElement);

function insert(row) {
  const rows = [...group(row).querySelectorAll("tr[data-session]")].filter((other) => other !== row);
  const after = rows.find((other) => other.dataset.rank > row.dataset.rank) || null;
  if (row.nextElementSibling !== after || row.parentElement !== group(row)) group(row).insertBefore(row, after);
}

function placed(fresh) {
  const known = $(fresh.id);
  if ("gone" in fresh.dataset) { known?.remove(); return; }
  const row = known || document.importNode(fresh, true);
  if (known) morph(known, fresh); else row.classList.add("new");
  insert(row);
}

function put(fresh) {
  const known = $(fresh.id);
  if (!busy()) { placed(fresh); return; }
  const gone = "gone" in fresh.dataset, stays = known && !gone && group(known) === group(fresh) && known.dataset.rank === fresh.dataset.rank;
  if (known && !gone) morph(known, fresh); // in place, whatever its group: it is true, and it does not move
  if (known && gone) known.classList.add("gone");
  if (stays) held.delete(fresh.id); else if (known || !gone) held.set(fresh.id, fresh);
}

function release() {
  for (const fresh of held.values()) placed(fresh);
  held.clear();
  totals();
}

function totals() {
  for (const body of [$("need"), $("calm")]) body.querySelector(".n").textContent = body.querySelectorAll("tr[data-session]").length;
  $("quiet").hidden = !!table.querySelector("tr[data-session]");
  pill.hidden = !held.size;
  const fresh = [...held.keys()].filter((id) => !$(id)).length;
  pill.textContent = fresh ? `${fresh} new, ${held.size - fresh} moved, show` : `${held.size} moved, show`;
}

export function begin() {
  page.seen = () => Object.fromEntries([...table.querySelectorAll("tr[data-session]")].slice(0, 350).map((row) => [row.dataset.session, Number(row.dataset.seq)]));
  page.place = (fresh) => {
    morph($("figures"), fresh.getElementById("figures"));
    for (const row of fresh.querySelectorAll("tr[data-session]")) put(row);
  };
  page.settle = totals;
  page.watching = (topic, sessions) => {
    if (topic !== "wall") return;
    const live = new Set(sessions);
    for (const row of table.querySelectorAll("tr[data-session]")) if (!live.has(row.dataset.session)) page.dirty.add(row.dataset.session);
  };
  pill.addEventListener("click", release);
  table.addEventListener("pointerleave", () => { if (!busy()) release(); });
  table.addEventListener("focusout", () => setTimeout(() => { if (!busy()) release(); }));
  button.hidden = false;
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    button.querySelector("span").textContent = on ? "Resume updates" : "Pause updates";
    pause(on);
  });
}
