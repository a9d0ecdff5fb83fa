// One run over an export of many sessions: every bundle, that they share one head of the log, and the list.
import { Archive } from "./archive.js";
import { equal, sha256, unbase64 } from "./bytes.js";
import { isInteger } from "./entry.js";
import { Fault } from "./faults.js";
import * as format from "./format.js";
import { canonical, strictJson } from "./json.js";
import { isOfLog, openNote, readLogHead, splitNote, UUID } from "./notes.js";
import { same } from "./story.js";
import { Verdict } from "./verdict.js";
import { anySigned, Verifier } from "./verifier.js";

const replacing = new TextDecoder("utf-8", { ignoreBOM: true });

export class ManyVerifier {
  constructor(archive, policy, verdict, now, listen) {
    this.archive = archive;
    this.policy = policy;
    this.verdict = verdict;
    this.now = now;
    this.listen = listen;
    this.key = policy.logs[0]; // until a bundle says which key it became
  }

  async run(demand) {
    if (demand.session || demand.receipt || (demand.held && !isOfLog(demand.held))) {
      throw new Fault("this is an export of many sessions: take the bundle of the one out of its folder `sessions`");
    }
    const checkpoint = this.archive.read("log/checkpoint", format.MAX_NOTE);
    const name = replacing.decode(checkpoint).split("\n", 1)[0];
    this.key = this.policy.logs.find((key) => key.name === name) ?? this.key;
    const rows = this.rows();
    const kept = [...rows].filter(([, entries]) => entries !== null);
    for (const [session, entries] of kept) await this.checkBundle(session, entries, checkpoint, demand);
    await this.checkManifest(rows, kept, name);
    if (!kept.length) await this.checkAlone(checkpoint);
    this.verdict.sessions = rows.size;
    this.verdict.finished = true;
  }

  /** The sessions of the list with their numbers of entries; null where the bundle went with its data subject. */
  rows() {
    const data = this.archive.read("sessions.jsonl", format.MAX_TEXT), rows = new Map();
    if (data.at(-1) !== 10) throw new Fault("sessions.jsonl ends inside a line, or lists nothing");
    for (let at = 0, end; at < data.length; at = end + 1) {
      end = data.indexOf(10, at);
      const row = strictJson(data.subarray(at, end));
      const session = row instanceof Map ? row.get("session") : null;
      if (typeof session !== "string" || !UUID.test(session) || rows.has(session)) {
        throw new Fault("sessions.jsonl has a line that names no session, or one twice");
      }
      const entries = row.get("entries") ?? null;
      const gone = entries === null && row.get("status") === "erased";
      if (!gone && !(isInteger(entries) && entries >= 0 && entries <= format.MAX_ENTRIES)) {
        throw new Fault(`sessions.jsonl: the line of session ${session} is malformed`);
      }
      rows.set(session, gone ? null : entries);
    }
    return rows;
  }

  async checkBundle(session, entries, checkpoint, demand) {
    const verdict = new Verdict();
    try {
      const bundle = new Archive(this.archive.window(`sessions/${session}.zip`), verdict, () => {});
      await bundle.scan();
      if (!equal(bundle.read("log/checkpoint", format.MAX_NOTE), checkpoint)) {
        verdict.fail("log", "its head of the log is not the one that all share");
      }
      const run = new Verifier(bundle, this.policy, verdict, this.now, {});
      await run.run({ ...demand, session });
      if (verdict.head?.size !== BigInt(entries)) verdict.fail("list", `the list says that it has ${entries} entries`);
      if (verdict.ok) {
        this.key = run.key;
        this.verdict.log = verdict.log;
        this.verdict.timestamp = verdict.timestamp;
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      verdict.fail("bundle", error.message);
    }
    this.verdict.take(verdict, `session ${session}`);
    this.listen.session?.(session, entries);
    this.listen.progress?.(this.archive.source.size, this.archive.source.size, this.verdict.counts.entries);
  }

  /** Every file is one that the log key signed, and none is missing. */
  async checkManifest(rows, kept, name) {
    const data = this.archive.read("manifest.json", format.MAX_TEXT);
    await this.checkNote(data, name);
    const manifest = canonical(data), wanted = ["entries", "files", "format", "sessions"];
    const good = manifest instanceof Map && manifest.size === wanted.length && wanted.every((each) => manifest.has(each));
    if (!good || manifest.get("format") !== format.EXPORTS_FORMAT || !(manifest.get("files") instanceof Map)) {
      throw new Fault(`manifest.json is not that of ${format.EXPORTS_FORMAT}`);
    }
    const entries = kept.reduce((sum, [, count]) => sum + count, 0);
    if (!same(manifest.get("entries"), entries) || !same(manifest.get("sessions"), rows.size)) {
      this.verdict.fail("manifest", "manifest.json counts other sessions or entries than the list");
    }
    this.checkFiles(manifest.get("files"), new Set([...format.EXPORTS_FILES, ...kept.map(([each]) => `sessions/${each}.zip`)]));
  }

  async checkNote(data, name) {
    try {
      const note = this.archive.read("manifest.note", format.MAX_NOTE);
      const lines = (await openNote(note, this.key, true)).split("\n");
      if (lines.length !== 4 || lines[0] !== format.EXPORTS_TITLE || lines[1] !== name || lines[3]) {
        throw new Fault("the note is not that of a manifest of many sessions");
      }
      if (!equal(unbase64(lines[2]), sha256(data))) throw new Fault("the note signs another manifest");
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.verdict.fail("manifest", `manifest.note: ${error.message}`);
    }
  }

  checkFiles(files, expected) {
    const signed = new Map([...this.archive.members].map(([each, member]) => [each, member.sha256]));
    for (const each of ["manifest.json", "manifest.note"]) {
      if (!signed.delete(each)) this.verdict.fail("manifest", `${each} is missing`);
    }
    for (const each of [...new Set([...expected, ...signed.keys()])].sort()) {
      if (!signed.has(each)) this.verdict.fail("manifest", `${each} is missing`);
      else if (!expected.has(each)) this.verdict.fail("manifest", `${each} does not belong in the export`);
    }
    for (const each of [...new Set([...files.keys(), ...signed.keys()])].sort()) {
      if ((files.get(each) ?? null) !== (signed.get(each) ?? null)) {
        this.verdict.fail("manifest", `${each} is not the file that was signed`);
      }
    }
  }

  /** Where no bundle is left, the head of the log is checked by itself. */
  async checkAlone(checkpoint) {
    const [text, lines] = splitNote(checkpoint);
    readLogHead(text, this.key.name);
    if (!(await anySigned(lines, text, this.key))) this.verdict.fail("log", `the log's head is not signed by ${this.key.vkey}`);
  }
}
