// Verifies one bundle after another, away from the page, which stays alive whatever a bundle does.
//
// In:  {file, trusted, source, demand, now}
// Out: {progress: {bytes, total, entries}} now and then; at the end {unable: text} if the browser cannot, {proof: true}
//      if this is no export, else {verdict: its JSON, rows: what is shown of the entries, more: how many are not
//      among them, sessions: [id, entries] of an export of many}
import { unavailable } from "./ed25519.js";
import { Num } from "./json.js";
import { verify } from "./verify.js";
import { PROOF_TITLE } from "./format.js";

const EVERY = 100; // milliseconds between two tellings
const ROWS = 50_000; // entries that are listed
const TEXT = 2_000; // characters of an event that are shown

self.addEventListener("message", async ({ data: job }) => {
  const unable = await unavailable();
  if (unable) return self.postMessage({ unable });
  if (await isProof(job.file)) return self.postMessage({ proof: true });
  const rows = [], sessions = [];
  let last = 0, more = 0;
  const listen = {
    progress(bytes, total, entries) {
      if (performance.now() - last < EVERY) return;
      last = performance.now();
      self.postMessage({ progress: { bytes, total, entries } });
    },
    entry(seq, envelope, event, state) {
      if (rows.length < ROWS) rows.push(row(seq, envelope, event, state));
      else more++;
    },
    session(id, entries) {
      sessions.push([id, entries]);
    },
  };
  const verdict = await verify(job.file, job.trusted, { ...job, listen });
  self.postMessage({ verdict: verdict.asJson(), rows: verdict.ok ? rows : [], sessions: verdict.ok ? sessions : [], more });
});

/** Whether the file is a document that proves a part of a session, or a tlog-proof: audit/verify.py reads those. */
async function isProof(file) {
  const start = await file.slice(0, PROOF_TITLE.length).text().catch(() => "");
  return start === PROOF_TITLE || start.startsWith("{");
}

function row(seq, envelope, event, state) {
  return { seq, at: envelope.get("at"), actor: envelope.get("actor"), kind: envelope.get("kind"), state, event: event && shown(event) };
}

/** An event for reading, as text. */
function shown(event) {
  const text = JSON.stringify(event, (_, value) => {
    if (value instanceof Map) return Object.fromEntries(value);
    return value instanceof Num || typeof value === "bigint" ? String(value) : value;
  }, 1);
  return text.length > TEXT ? `${text.slice(0, TEXT)} …` : text;
}
