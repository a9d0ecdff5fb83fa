// The bell: how many notices are new, said politely. For who asked for it, with a click on their own page: a sound for what is critical,
// and a notification of the desktop while this window is hidden. What was heard once in this browser is not heard again.
import { morph } from "./morph.js";

const $ = (id) => document.getElementById(id);
const PAUSE = 1000, BETWEEN = 20_000, RINGS = 3, KEPT = 100; // ms, ms, sounds of one notice, ids
const HEARD = "agentstate.heard";
let timer = null, sound = null, ringing = null;

export const bell = { count: Number($("bell")?.dataset.count || 0), changed: () => {} };

// A frame of the socket: something may be new.
export function hear(frame) {
  if (!$("bell") || timer || $("bell").dataset.mark === frame.mark) return;
  timer = setTimeout(() => { timer = null; look(); }, PAUSE * Math.random());
}

async function look() {
  try {
    const answer = await fetch($("bell").dataset.source, { headers: { Accept: "text/html" }, redirect: "error", cache: "no-store" });
    if (!answer.ok) return; // the next beat asks again
    put(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch { /* the line is down: the page says so elsewhere */ }
}

function put(fresh) {
  const next = fresh.getElementById("bell"), list = fresh.getElementById("ringing");
  if (!next || !list) return;
  const more = Number(next.dataset.count) - bell.count;
  morph($("bell"), next);
  bell.count = Number(next.dataset.count);
  bell.changed();
  const heard = new Set(read()), all = [...list.children], news = all.filter((each) => !heard.has(each.dataset.id));
  write([...heard, ...news.map((each) => each.dataset.id)].slice(-KEPT));
  if (more > 0 && news.length) say(news, more);
  const loud = news.filter((each) => !each.dataset.silent);
  if (list.dataset.desktop) for (const each of loud.slice(0, 3)) show(each);
  if (!all.some((each) => each.dataset.severity === "critical")) still();
  else if (list.dataset.sound && loud.some((each) => each.dataset.severity === "critical")) ring();
}

function say(fresh, more) {
  const critical = fresh.find((each) => each.dataset.severity === "critical");
  const words = `${more} new ${more === 1 ? "notice" : "notices"}: ${(critical || fresh[0]).textContent.trim()}`;
  $(critical && !critical.dataset.silent ? "urgent" : "polite").textContent = words;
}

function show(each) {
  if (!document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  const told = new Notification(each.textContent.trim(), { tag: each.dataset.id, requireInteraction: each.dataset.severity === "critical" });
  told.onclick = () => { window.focus(); location.href = each.dataset.href; told.close(); };
}

// Three times at most, until somebody has looked.
function ring() {
  still();
  let left = RINGS;
  const once = () => { if (left-- > 0) beep(); else still(); };
  once();
  ringing = setInterval(once, BETWEEN);
}

function still() { clearInterval(ringing); ringing = null; }

function beep() {
  sound ||= new AudioContext();
  sound.resume().then(() => [[880, 0], [660, 0.18]].forEach(([tone, after]) => {
    const voice = sound.createOscillator(), volume = sound.createGain(), from = sound.currentTime + after;
    voice.frequency.value = tone;
    volume.gain.setValueAtTime(0.12, from);
    volume.gain.exponentialRampToValueAtTime(0.001, from + 0.16);
    voice.connect(volume).connect(sound.destination);
    voice.start(from);
    voice.stop(from + 0.17);
  })).catch(() => {});
}

function read() { try { return JSON.parse(localStorage.getItem(HEARD) || "[]"); } catch { return []; } }
function write(ids) { try { localStorage.setItem(HEARD, JSON.stringify(ids)); } catch { /* then it is heard in each window */ } }

// On the page of wishes: ticking a box is the gesture that browsers want before they let us.
export function begin() {
  const said = document.querySelector("[data-said]");
  document.querySelector("input[data-sound]")?.addEventListener("change", (event) => { if (event.target.checked) beep(); });
  document.querySelector("input[data-desktop]")?.addEventListener("change", async (event) => {
    if (!event.target.checked || !("Notification" in window)) return;
    const answer = await Notification.requestPermission();
    said.textContent = answer === "granted" ? "Your browser lets us." : "Your browser does not let us: it can be changed in its settings.";
    if (answer !== "granted") event.target.checked = false;
  });
}
