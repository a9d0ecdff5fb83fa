// Keeps a page current: gathers what moved, fetches the page's own fragments at most four times a second, and puts them in place.
import * as ringing from "./bell.js";
import { Feed } from "./feed.js";
import { morph } from "./morph.js";
import { age, freeze, tick } from "./ticking.js";
import * as writing from "./writing.js";

const EVERY = 250; // ms between two fetches
const GRACE = 2000; // ms
const BOUND = 11_000; // ms: two beats of the server. An older page takes no decision
const body = document.body, here = body.dataset;
const $ = (id) => document.getElementById(id);
const title = document.title.replace(/^\([^)]*\) /, "");

export const page = {
  dirty: new Set(), // sessions of this page that moved and were not fetched yet
  others: false, // a session that is not on this page moved: the badge may be another
  paused: false,
  seen: () => ({}),
  place: null, // how a fragment gets into the page, if not by id
  settle: () => {},
};

let fetching = false, last = -EVERY, timer = null, behind = false;

function follows(session) {
  const topic = here.follow || "wall";
  return topic === "wall" || topic === `session:${session}`;
}

function wanted() {
  const url = new URL(page.dirty.size ? here.source : here.badge, location.href);
  if ($("wall")) for (const session of [...page.dirty].slice(0, 200)) url.searchParams.append("s", session);
  return url;
}

function pump() {
  if (fetching || timer || page.paused || !(page.dirty.size || page.others)) return;
  const pause = last + (page.dirty.size ? EVERY : 4 * EVERY) - performance.now();
  if (pause > 0) { timer = setTimeout(() => { timer = null; pump(); }, pause); return; }
  fetching = true;
  last = performance.now();
  refresh().finally(() => { fetching = false; pump(); });
}

async function refresh() {
  const url = wanted(), asked = new Set(url.searchParams.has("s") ? url.searchParams.getAll("s") : page.dirty);
  const others = page.others;
  page.others = false;
  for (const session of asked) page.dirty.delete(session);
  try {
    const answer = await fetch(url, { headers: { Accept: "text/html" }, redirect: "error", cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    put(new DOMParser().parseFromString(await answer.text(), "text/html"));
    behind = false;
  } catch {
    for (const session of asked) page.dirty.add(session);
    page.others = others;
    behind = true;
    last = performance.now() + 2000; // not at the pace of frames
  }
  show();
}

function put(fresh) {
  const log = $("log"), bottom = log && log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  if (page.place) page.place(fresh);
  else for (const part of [...fresh.body.children]) if (part.id && $(part.id)) morph($(part.id), part);
  for (const id of ["stopped", "wanted", "alert-badge"]) if ($(id) && fresh.getElementById(id)) morph($(id), fresh.getElementById(id));
  const badge = fresh.getElementById("badge");
  if (badge) { morph($("badge"), badge); count(Number(badge.dataset.count)); }
  tick();
  page.settle();
  writing.settle();
  if (log && bottom) log.scrollTop = log.scrollHeight;
}

let counted = Number($("badge")?.dataset.count || 0), told = 0;
function count(open) {
  if (open > counted && performance.now() - told > 10_000) {
    told = performance.now();
    $("polite").textContent = `${open - counted} new to decide, ${open} open`;
  }
  counted = open;
  entitle();
}

function entitle() {
  const news = ringing.bell.count, words = [counted || "", news ? `${news} new` : ""].filter(Boolean).join(", ");
  document.title = words ? `(${words}) ${title}` : title;
}
ringing.bell.changed = entitle;

function show() {
  if (feed.state === "new" && feed.age < GRACE) return; // just loaded: no alarm before there was time to connect
  const conn = $("conn"), old = feed.state !== "live" || behind;
  conn.classList.remove("still");
  conn.classList.toggle("stale", old);
  conn.textContent = !old ? (page.paused ? "Paused" : `Live · ${age(feed.age)}`)
    : feed.state === "new" ? `Connecting, data ${age(feed.age)} old` : `Reconnecting, data ${age(feed.age)} old`;
  decidable(!old && feed.age <= BOUND);
}

// The page takes no decision while it may be out of date: before it connects, and when frames are late.
function decidable(on) {
  $("main").classList.toggle("stale-data", !on);
  const note = $("lost"), since = new Date(Date.now() - feed.age).toISOString().slice(11, 19);
  if (note) {
    const words = $("lost-words");
    note.hidden = on;
    $("lost-state").textContent = feed.state === "new" ? "Not connected yet." : feed.state === "lost" ? "Connection lost." : "Updates are late.";
    if (!on && words.textContent.indexOf(since.slice(0, 7)) < 0) words.textContent = `This page is from ${since} UTC. It connects again by itself.`;
  }
  const off = $("off");
  if (off && off.hidden !== on) {
    off.hidden = on;
    if (!on) $("urgent").textContent = "Deciding is off: this page may be out of date.";
  }
  for (const button of document.querySelectorAll("#acts button[name=decision]")) button.disabled = !on;
}

let feed;
export function start() {
  feed = new Feed((here.watch || "wall").split(" "), () => page.seen(), {
    changed(session) {
      if (!follows(session)) page.others = true;
      else { page.dirty.add(session); clearTimeout(timer); timer = null; }
      pump();
    },
    writing: writing.hear,
    notices: ringing.hear,
    watching(topic, sessions) { page.watching?.(topic, sessions); pump(); },
    state(state) {
      if (state === "lost") { $("urgent").textContent = "Connection lost. What you see may be old."; freeze(); }
      if (state === "live" && $("urgent").textContent) $("urgent").textContent = "Connected again.";
      show();
    },
  });
  setInterval(() => { show(); if (!page.paused && feed.state !== "lost") tick(); }, 500);
  setInterval(pump, 1000);
  page.pump = pump;
  page.show = show;
  show();
  tick();
}

export function pause(on) {
  page.paused = on;
  show();
  pump();
}
