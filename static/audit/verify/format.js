// The constants of agentstate-export/4, the same as in audit/verify.py (a test compares them).

export const FORMAT = "agentstate-export/4";
export const MANIFEST_TITLE = "agentstate export manifest v1";
export const CHUNK = 256; // entries per file, as in C2SP tlog-tiles
export const TOP_FILES = [
  "README.txt", "entries.csv", "entries.jsonl", "policy", "report.html", "report.json", "report.pdf",
];
export const LOG_FILES = [
  "log/checkpoint", "log/head.tlog-proof", "log/headmap.json", "log/headmap.tlog-proof", "receipts/head.cbor",
];
export const EXPORTS_FORMAT = "agentstate-exports/1"; // many bundles in one archive
export const EXPORTS_TITLE = "agentstate exports manifest v1";
export const EXPORTS_FILES = ["README.txt", "log/checkpoint", "policy", "sessions.csv", "sessions.jsonl"];
export const UNPROVED_FILES = ["README.txt", "report.html", "report.pdf"]; // signed, and nothing more
export const UNPROVED_LISTS = ["sessions.csv", "sessions.jsonl"]; // but for the sessions and their numbers of entries
export const COLUMNS = ["seq", "at", "actor", "kind", "answers", "state", "event"]; // of entries.csv and its like
// what begins a formula in a spreadsheet; the wide forms count too, for some programs read them as the narrow ones
export const FORMULA = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"];
export const MAP_TITLE = "agentstate headmap/1";
export const KEY_TITLE = "agentstate key/1";
export const AFTER = "after"; // begins the line of a head's leaf that names the leaf of the session's head before
export const PROOF_TITLE = "c2sp.org/tlog-proof@v1";
export const MAX_BUNDLE = 4294967295; // bytes; the archive has no zip64 form
export const MAX_ENTRIES = 4194304;
export const MAX_PAYLOAD = 33554432; // bytes of one ciphertext, and of one event when unpacked
export const MIN_PAYLOAD = 17; // bytes of one ciphertext: one that says how it is packed, and the tag of AES-GCM
export const MAX_TEXT = 33554432; // bytes of a manifest or of one file of disclosures
export const MAX_NOTE = 1000000;
export const MAX_HEADS = 33554432; // bytes of the leaves that said a session's earlier heads
export const MAX_POLICY = 100000;
export const MAX_FAILURES = 1000; // kept in full; further ones are counted
export const ERASED_BY = "subject.erased"; // the kind of the entry that must stand behind every erased payload
export const PRUNED_BY = "payload.pruned"; // of the entry that names the payloads deleted when their term was over
export const CLOSED = ["withheld", "indivisible", "erased", "pruned"]; // states of a payload that is not shown
export const SEALED_BY = "session.sealed"; // of the entry after which nothing stands but these three
export const RECORDED_BY = "snapshot.recorded"; // of the entry before a pruning in a session that goes on
export const ERASURE_KINDS = ["erasure.begun", "erasure.key_destroyed"]; // of the entries of staff that say so
export const STAFF_LOGS = "3b0c8a52-6d0b-5a0e-8a3d-5f5c6f1d2e90"; // namespace (UUID 5) of the ids of logs of staff
export const CLOCK_TOLERANCE = 120; // seconds by which writers on several machines may disagree
export const FUTURE_TOLERANCE = 86400; // seconds by which the auditor's own clock may be wrong

// files that a bundle may hold or not: the session's earlier heads, rotations of the log key, a timestamp, proofs of
// erasures and from older heads
export const OPTIONAL = /^log\/(?:heads|checkpoint\.tsr|keys\/[0-9]{3}\.tlog-proof|erasures\/[0-9a-f-]{36}\.json|consistency\/(?:0|[1-9][0-9]{0,15}))$/;

/** A tile's path, as C2SP tlog-tiles has it: 1234067 is x001/x234/067; a partial one ends in .p/width. */
export function tilePath(index, width) {
  let path = String(index % 1000).padStart(3, "0");
  while (index >= 1000) {
    index = Math.floor(index / 1000);
    path = `x${String(index % 1000).padStart(3, "0")}/${path}`;
  }
  return width === CHUNK ? path : `${path}.p/${width}`;
}

/** [index, width] of the tiles that hold `count` items. */
export function* tiles(count) {
  for (let index = 0; index * CHUNK < count; index++) yield [index, Math.min(CHUNK, count - index * CHUNK)];
}

/** The name of every file of a bundle with so many entries. */
export function* layout(entries) {
  yield* [...TOP_FILES, ...LOG_FILES, "manifest.json", "manifest.note", "session/checkpoint"];
  for (const [index, width] of tiles(entries)) {
    const path = tilePath(index, width);
    yield* [`session/tile/entries/${path}`, `session/payload/${path}`, `session/disclosures/${path}`];
  }
  for (let level = 0, count = entries; count; level++, count = Math.floor(count / CHUNK)) {
    for (const [index, width] of tiles(count)) yield `session/tile/${level}/${tilePath(index, width)}`;
  }
}
