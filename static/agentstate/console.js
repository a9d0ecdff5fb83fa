// What every page of the console runs: live updates, shortcuts, and the module of the page it is.
import * as bell from "./bell.js";
import * as card from "./card.js";
import * as keys from "./keys.js";
import { page, start } from "./live.js";
import * as wall from "./wall.js";

keys.begin();
bell.begin();
if (document.getElementById("wall")) wall.begin();
else if (document.getElementById("queue")) card.begin();
else {
  const head = document.getElementById("sess-h"), follow = document.body.dataset.follow || "";
  if (follow.startsWith("session:") && head) page.seen = () => ({ [follow.slice(8)]: Number(head.dataset.seq) });
}
const log = document.getElementById("log");
if (log && !location.search.includes("before=")) log.scrollTop = log.scrollHeight;
if (location.hash === "#ask") document.getElementById("ask")?.focus();
start();
