// The card of a request: what an edit amounts to, in words, while it is typed; and how it changes when somebody else decides.
import { morph } from "./morph.js";
import { page } from "./live.js";

const $ = (id) => document.getElementById(id);
const shown = (minor) => (minor / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

function minor(text) {
  const plain = text.replace(/[,$€£\s]/g, "");
  return /^\d{1,13}(\.\d{1,2})?$/.test(plain) ? Math.round(Number(plain) * 100) : null;
}

function amount(input) {
  const typed = minor(input.value), was = Number(input.dataset.proposed), row = input.closest("tr");
  const changed = typed !== null && typed !== was, mark = input.dataset.symbol;
  row.classList.toggle("edited", changed || typed === null);
  row.querySelector("[data-difference]").textContent =
    typed === null ? "not an amount" : changed ? `${mark}${shown(Math.abs(typed - was))} ${typed > was ? "more" : "less"}` : "";
  return typed === null ? "" : `${mark}${shown(typed)}`;
}

function mark(field, changed) {
  field.closest("tr").classList.toggle("edited", changed);
  field.closest("tr").querySelector("[data-difference]").textContent = changed ? "changed" : "";
}

const isOther = (select) => ![...select.options].find((option) => option.selected)?.defaultSelected;

// What the amount would leave in an account; not known any more once another account is chosen.
function balances(input) {
  const typed = minor(input.value);
  for (const hint of document.querySelectorAll("#fields [data-balance]")) {
    const other = hint.closest("tr").classList.contains("edited") || typed === null, sign = Number(hint.dataset.sign);
    const left = Number(hint.dataset.balance) + sign * typed;
    hint.textContent = other ? "" : `${sign < 0 ? "Leaves" : "Becomes"} ${left < 0 ? "-" : ""}${input.dataset.symbol}${shown(Math.abs(left))}`;
  }
}

function edited() {
  const amounts = [...document.querySelectorAll("#fields input[data-proposed]")].filter((input) => input.dataset.symbol.length === 1);
  const figures = amounts.map(amount);
  if (amounts.length === 1) balances(amounts[0]);
  const label = $("approve-label");
  if (label) label.textContent = figures.length === 1 && figures[0] ? `Approve ${figures[0]}` : "Approve";
}

// Shows how the values in the form differ from the customer's words and from the proposal, before they are sent. The
// server compares them. Its answer carries a signed record of what the page then shows.
const SETTLE = 400; // ms without a key
let typing = null, asked = 0;

const touched = () => !!document.querySelector("#fields tr.edited") || [...document.querySelectorAll("#again input")].some((each) => each.value);

async function check() {
  const form = $("decide"), mine = ++asked;
  if (!form || !$("view")) return;
  const body = new FormData(form);
  body.set("decision", "check");
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" }, redirect: "error" });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok || mine !== asked || !$("view") || !fresh.getElementById("view")) return;
    morph($("differences"), fresh.getElementById("differences"));
    $("view").value = fresh.getElementById("view").value;
  } catch {} // the server asks to look again where the page did not show it
}

// The fragment is rendered without the values in the form. So the differences that were checked stay, shown and signed,
// until the next answer. Otherwise the server would refuse an approval that is sent in between.
function keepChecked(other) {
  for (const id of ["differences", "view"]) if ($(id)) other.querySelector(`#${id}`)?.replaceWith($(id).cloneNode(true));
}

function checkSoon() {
  clearTimeout(typing);
  typing = setTimeout(check, SETTLE);
}

// Who is on it: the first edit claims what nobody has, and the claim is kept while somebody works on the page.
const KEEP = 30_000; // ms
let active = performance.now();

function tell(which) {
  const [keep, claim] = ($("claimed")?.dataset.acts || "").split(" ");
  const token = document.querySelector("#decide [name=csrfmiddlewaretoken]");
  if (!keep || !token) return;
  fetch(which === "keep" ? keep : claim, {
    method: "POST", headers: { Accept: "application/json", "X-CSRFToken": token.value }, redirect: "error",
    body: new URLSearchParams({ unasked: "yes" }),
  }).catch(() => {}); // the lease runs out by itself, and the page says so when it is told
}

function keepClaim() {
  if ($("claimed")?.dataset.claim === "mine" && performance.now() - active < 4 * KEEP) tell("keep");
}

function claimIfFree(event) {
  active = performance.now();
  const claimed = $("claimed");
  if (!event.target.closest("#decide") || !claimed || claimed.dataset.claim || !$("acts")) return;
  claimed.dataset.claim = "asked"; // once
  tell("claim");
}

// Claiming and undoing leave the page as it is, with what was typed; what is refused is said by the page itself.
function act(event) {
  const form = event.target;
  if (!form.closest("#claimed, #held")) return;
  event.preventDefault();
  fetch(form.action, { method: "POST", headers: { Accept: "application/json" }, body: new FormData(form), redirect: "error" })
    .then((answer) => { if (!answer.ok) form.submit(); })
    .catch(() => form.submit());
}

export function begin() {
  setInterval(keepClaim, KEEP);
  addEventListener("submit", act);
  addEventListener("input", claimIfFree);
  addEventListener("keydown", () => { active = performance.now(); });
  addEventListener("pointerdown", () => { active = performance.now(); });
  page.place = (fresh) => {
    const card = $("card"), other = fresh.getElementById("card");
    morph($("queue"), fresh.getElementById("queue"));
    if (!other || !card) return;
    const same = card.dataset.state === other.dataset.state && card.querySelector("#acts") && other.querySelector("#acts");
    if (same) {
      if (touched()) keepChecked(other);
      for (const id of ["card-h", "said", "rule", "history", "view"]) morph($(id), other.querySelector(`#${id}`));
      if (touched()) check();
    }
    else if (card.dataset.request) {
      morph(card, other);
      if (card.dataset.state !== "pending") $("polite").textContent = $("settled")?.innerText || "Decided";
    }
  };
  page.settle = () => { edited(); };
  addEventListener("input", (event) => {
    if (event.target.matches("#fields select")) mark(event.target, isOther(event.target));
    if (event.target.matches("#fields textarea")) mark(event.target, event.target.value !== event.target.defaultValue);
    if (event.target.closest("#fields, #again")) checkSoon();
    edited();
  });
  edited();
}
