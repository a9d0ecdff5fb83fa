// One run over the bundle of one session. All failures are collected; a Fault ends the run.
import { encoded, equal, hex, joined, latin1, leafHash, sha256, unbase64, unhex } from "./bytes.js";
import * as entries from "./entry.js";
import { Fault } from "./faults.js";
import { isDigest, openLeaves } from "./fields.js";
import * as format from "./format.js";
import { checkReceipt, readHashes, readProof, rootOfMap } from "./globallog.js";
import { byCodePoint, canonical, Shown } from "./json.js";
import * as notes from "./notes.js";
import { readPolicy } from "./policy.js";
import { quoted } from "./spelling.js";
import { Story } from "./story.js";
import { tableRow, Tables } from "./tables.js";
import { readTimestamp } from "./timestamp.js";
import { checkConsistency, rootOfProof, TiledTree } from "./tree.js";

const AT_ONCE = 2 ** 23; // bytes of payloads that are being opened at the same time
const DISCLOSED = ["disclosed", "partly"];

export class Verifier {
  constructor(archive, policy, verdict, now, listen) {
    this.archive = archive;
    this.policy = policy;
    this.verdict = verdict;
    this.now = now;
    this.listen = listen;
    this.key = policy.logs[0]; // until the global log's head says which log, and its rotations which key
    this.log = null;
    this.head = null;
    this.earlier = new Map(); // number of entries -> roots of earlier heads, and whose
    this.manifestOrigin = "";
    this.tree = new TiledTree();
    this.story = new Story(verdict);
    this.latest = ""; // the latest time of a sound entry; text order is time order
    this.erased = new Map(); // kid -> entries said to be erased
    this.erasures = new Set(); // kids for which an entry records the erasure
    this.pruned = []; // entries said to be pruned
    this.prunings = []; // the ranges that entries name; [0, seq] where one is not disclosed
    this.sealed = false;
    this.acknowledged = null; // what somebody was told when they gave a command
    this.kept = false; // whether the first entries are those that were acknowledged
  }

  async run(demand) {
    this.acknowledged = demand.receipt ?? null;
    await this.checked("log", () => this.checkLog(demand));
    const count = await this.checkManifest();
    await this.checkHead(demand.session ?? "");
    await this.checked("held", () => this.holdHead(demand.held));
    await this.checked("tail", () => this.checkTail());
    await this.checked("timestamp", () => this.checkTimestamp());
    this.tables = new Tables(this.archive, count, this.verdict);
    for (const [index, width] of format.tiles(count)) await this.checkChunk(index, width);
    this.story.end();
    this.checkTree();
    await this.checked("receipt", () => this.checkAcknowledged());
    await this.checkErasures();
    this.checkPrunings();
    this.tables.end(this.head, this.key);
    this.verdict.finished = true;
  }

  async checked(what, check) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.verdict.fail(what, error.message);
    }
  }

  // --- the global log

  /** Its head: by a key that the auditor trusts, cosigned as the policy asks, continuing what was held before. */
  async checkLog(demand) {
    const [text, lines] = notes.splitNote(this.archive.read("log/checkpoint", format.MAX_NOTE));
    const name = text.split("\n", 1)[0];
    this.key = this.policy.logs.find((key) => key.name === name) ?? this.key;
    const head = notes.readLogHead(text, this.key.name);
    this.key = await this.newestKey(head);
    if (!(await anySigned(lines, text, this.key))) throw new Fault(`the log's head is not signed by ${this.key.vkey}`);
    this.log = head;
    const cosigned = await this.cosigned(lines, text);
    const newest = [...cosigned.values()].reduce((latest, at) => (at > latest ? at : latest), 0n);
    const witnesses = [...cosigned.keys()].sort(byCodePoint);
    this.verdict.log = { name, size: head.size, root: hex(head.root), key: this.key.vkey, witnesses, cosigned_at: cosigned.size ? isoSecond(newest) : "" };
    if (!this.policy.met(new Set(cosigned.keys()))) {
      this.verdict.fail("log", `cosigned by ${quoted(witnesses)}: the policy asks for ${this.policy.quorum}`);
    }
    this.checkFresh(demand, newest);
    if (demand.held && notes.isOfLog(demand.held)) this.checkContinues(demand);
    const own = readPolicy(this.archive.read("policy", format.MAX_POLICY));
    if (!own.logs.some((key) => key.public === this.key.public)) {
      this.verdict.fail("log", "the policy in the bundle does not name the key that signed it");
    }
  }

  /** The key that the auditor's became by rotations, each signed by the one before and standing in the log. */
  async newestKey(head) {
    let key = this.key, before = -1n;
    for (let number = 0; ; number++) {
      const name = `log/keys/${String(number).padStart(3, "0")}.tlog-proof`;
      if (!this.archive.members.has(name)) return key;
      const proof = this.proved(name, head);
      const [text, lines] = notes.splitNote(proof.body);
      const parts = text.split("\n");
      if (parts.length !== 4 || parts[0] !== format.KEY_TITLE || parts[1] !== this.key.name || proof.index <= before) {
        throw new Fault(`${name} is no rotation of the log's key, or not in order`);
      }
      if (await anySigned(lines, text, key)) key = notes.readVkey(parts[2]);
      before = proof.index;
    }
  }

  /** The leaf that a proof in the bundle shows to stand under the global log's head. */
  proved(name, head) {
    const proof = readProof(this.archive.read(name, format.MAX_NOTE));
    if (!equal(proof.checkpoint, this.archive.read("log/checkpoint", format.MAX_NOTE))) {
      throw new Fault(`${name} is a proof for another head`);
    }
    let root;
    try {
      root = rootOfProof(proof.index, head.size, leafHash(proof.body), proof.path);
    } catch (error) {
      throw error instanceof Fault ? new Fault(`${name}: ${error.message}`) : error;
    }
    if (!equal(root, head.root)) {
      throw new Fault(`${name} does not lead to the log's root: it is for another leaf or another tree`);
    }
    return proof;
  }

  /** When the policy's witnesses cosigned, in seconds since 1970, by their names in the policy. */
  async cosigned(lines, text) {
    const found = new Map();
    for (const [name, key] of this.policy.witnesses) {
      for (const line of lines) {
        const at = await notes.signed(line, text, key);
        if (at === null) continue;
        if (Number(at) > this.now / 1000 + format.FUTURE_TOLERANCE) {
          throw new Fault(`witness ${name} cosigned at a time that is still to come`);
        }
        const before = found.get(name) ?? 0n;
        found.set(name, at > before ? at : before);
      }
    }
    return found;
  }

  checkFresh(demand, newest) {
    if (this.log.size < (demand.minSize ?? 0)) {
      this.verdict.fail("log", `the log has ${this.log.size} entries, want at least ${demand.minSize}`);
    }
    if (demand.maxAge !== undefined && this.now / 1000 - Number(newest) > demand.maxAge) {
      this.verdict.fail("log", `last cosigned ${newest ? isoSecond(newest) : "never"}: that is older than was asked for`);
    }
  }

  /** The log continues the head that the auditor holds. That one was signed by this key or one before it. */
  checkContinues(demand) {
    const [text] = notes.splitNote(demand.held);
    const old = notes.readLogHead(text, this.key.name);
    const name = `log/consistency/${old.size}`;
    let path = demand.heldProof ?? null;
    if (!path && this.archive.members.has(name)) path = readHashes(this.archive.read(name, format.MAX_NOTE));
    if (!path && old.size > 0n && old.size < this.log.size) {
      throw new Fault(`the bundle holds no proof from the head of ${old.size} entries; give one with --consistency`);
    }
    checkConsistency(old, this.log, path ?? []);
    this.verdict.log.continues = old.size;
  }

  /** The session's head stands in the global log, and the newest head map says that it is the latest. */
  async checkTail() {
    if (!this.log || !this.head) return;
    const proof = this.proved("log/head.tlog-proof", this.log);
    const leaf = notes.readHeadLeaf(proof.body, this.key.name), { log, size: entries, root: top } = leaf.head;
    if (log !== this.head.log || entries !== this.head.size || !equal(top, this.head.root)) {
      throw new Fault("the head that is proved to stand in the log is not the one of this session");
    }
    await this.checked("heads", () => this.checkHeads(leaf, proof.index));
    await this.checked("receipt", () => this.checkReceipt(proof));
    const said = this.proved("log/headmap.tlog-proof", this.log);
    const lines = latin1(said.body).split("\n");
    if (lines.length !== 6 || lines[0] !== format.MAP_TITLE || lines[1] !== latin1(encoded(this.key.name)) || lines[5]) {
      throw new Fault("log/headmap.tlog-proof proves no head map");
    }
    if (lines[2] !== String(said.index)) throw new Fault("the head map stands at another place in the log than it says");
    const [latest, size, siblings] = this.mapRow();
    const root = rootOfMap(this.key.name, this.head.log, latest, size, siblings);
    if (!equal(root, notes.readHash(lines[4]))) throw new Fault("log/headmap.json does not lead to the root of the head map");
    if (latest !== proof.index || size !== this.head.size) {
      throw new Fault(
        `the newest head of this session is leaf ${latest} with ${size} entries, the bundle shows leaf` +
          ` ${proof.index} with ${this.head.size}: its end was cut off`,
      );
    }
    Object.assign(this.verdict.head, { leaf: proof.index, latest_as_of: said.index });
  }

  /** Take an older head of this session: its entries must begin with those of that head. */
  holdHead(held) {
    if (!held || notes.isOfLog(held) || !this.head) return;
    const old = notes.readSessionHead(notes.splitNote(held)[0], this.key.name);
    if (old.log !== this.head.log) throw new Fault(`the head that you hold is of session ${old.log}`);
    if (old.size > this.head.size) {
      throw new Fault(`you hold a head of ${old.size} entries, and there are ${this.head.size}: its end was cut off`);
    }
    this.expect(old, "you hold");
    this.verdict.head.continues = old.size;
  }

  /** The earlier heads of this session, from leaf to leaf; its entries must begin with those of each. */
  checkHeads(leaf, index) {
    const there = this.archive.members.has("log/heads");
    const data = there ? this.archive.read("log/heads", format.MAX_HEADS) : new Uint8Array();
    const heads = notes.readHeads(data, leaf, index, this.key.name);
    for (const each of heads) this.expect(each.head, "the log said");
    this.verdict.head.earlier = heads.length;
  }

  expect({ size, root }, whose) {
    const known = this.earlier.get(Number(size)) ?? [];
    this.earlier.set(Number(size), [...known, { root, whose }]);
  }

  /** The entries so far are those of every earlier head of so many. */
  checkEarlier(seq) {
    const root = this.tree.root();
    for (const each of this.earlier.get(this.tree.size)) {
      if (equal(each.root, root)) continue;
      const what = each.whose === "you hold" ? "held" : "heads";
      this.verdict.fail(what, `${each.whose} another head of ${this.tree.size} entries: some were taken back or rewritten`, seq);
    }
  }

  checkReceipt(proof) {
    return checkReceipt(this.archive.read("receipts/head.cbor", format.MAX_NOTE), this.key, this.log, proof);
  }

  mapRow() {
    const row = canonical(this.archive.read("log/headmap.json", format.MAX_NOTE));
    const good = row instanceof Map && row.size === 3 && ["index", "siblings", "size"].every((name) => row.has(name));
    if (!good || ["index", "size"].some((name) => !entries.isInteger(row.get(name)) || row.get(name) < 0)) {
      throw new Fault("log/headmap.json is malformed");
    }
    const siblings = row.get("siblings");
    if (!Array.isArray(siblings) || siblings.length > 256 || !siblings.every(isDigest)) {
      throw new Fault("log/headmap.json is malformed");
    }
    return [BigInt(row.get("index")), BigInt(row.get("size")), siblings.map(unhex)];
  }

  checkTimestamp() {
    if (!this.archive.members.has("log/checkpoint.tsr")) return;
    const token = this.archive.read("log/checkpoint.tsr", format.MAX_NOTE);
    const [digest, at, until] = readTimestamp(token);
    if (!equal(digest, sha256(this.archive.read("log/checkpoint", format.MAX_NOTE)))) {
      throw new Fault("log/checkpoint.tsr stamps another head");
    }
    const ended = until && until < secondOf(this.now) ? "yes" : "no";
    this.verdict.timestamp = { at, signature: "not checked here: use openssl ts -verify", until, sha256: hex(sha256(token)), ended };
  }

  // --- manifest and head

  /** Every file is one that the log key signed; returns how many entries the bundle says it holds. */
  async checkManifest() {
    const data = this.archive.read("manifest.json", format.MAX_TEXT);
    try {
      const note = this.archive.read("manifest.note", format.MAX_NOTE);
      const lines = (await notes.openNote(note, this.key, true)).split("\n");
      if (lines.length !== 4 || lines[0] !== format.MANIFEST_TITLE || lines[3]) throw new Fault("the note is not that of a manifest");
      if (!equal(unbase64(lines[2]), sha256(data))) throw new Fault("the note signs another manifest");
      this.manifestOrigin = lines[1];
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.verdict.fail("manifest", `manifest.note: ${error.message}`);
    }
    const manifest = canonical(data);
    const count = manifestCount(manifest);
    this.checkFiles(manifest.get("files"), count);
    return count;
  }

  checkFiles(files, count) {
    const expected = new Set(format.layout(count));
    const members = new Set([...this.archive.members.keys()].filter((name) => !format.OPTIONAL.test(name)));
    const differing = [...[...expected].filter((name) => !members.has(name)), ...[...members].filter((name) => !expected.has(name))];
    for (const name of differing.sort()) {
      this.verdict.fail("manifest", `${name} ${expected.has(name) ? "is missing" : "does not belong in the bundle"}`);
    }
    const signed = new Map([...this.archive.members].map(([name, member]) => [name, member.sha256]));
    signed.delete("manifest.json");
    signed.delete("manifest.note");
    for (const name of [...new Set([...files.keys(), ...signed.keys()])].sort()) {
      if ((files.get(name) ?? null) !== (signed.get(name) ?? null)) {
        this.verdict.fail("manifest", `${name} is not the file that was signed`);
      }
    }
  }

  async checkHead(expectedLog) {
    let text, head;
    try {
      text = await notes.openNote(this.archive.read("session/checkpoint", format.MAX_NOTE), this.key, false);
      head = notes.readSessionHead(text, this.key.name);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.verdict.fail("head", `session/checkpoint: ${error.message}`);
      return;
    }
    this.head = head;
    this.verdict.head = { log: head.log, size: head.size, root: hex(head.root) };
    if (this.manifestOrigin && this.manifestOrigin !== `${this.key.name}/s/${head.log}`) {
      this.verdict.fail("head", "the manifest was signed for another session");
    }
    if (expectedLog && head.log !== expectedLog) this.verdict.fail("head", `this is session ${head.log}, want ${expectedLog}`);
  }

  // --- entries

  /** Check up to 256 entries. A file that cannot be read is reported once; the rest is still checked. */
  async checkChunk(index, width) {
    const first = index * format.CHUNK, path = format.tilePath(index, width);
    const envelopes = this.part(`session/tile/entries/${path}`, first, width, (name) => this.envelopes(name));
    const disclosures = this.part(`session/disclosures/${path}`, first, width, (name) => this.disclosures(name));
    const payloads = this.payloads(`session/payload/${path}`, first, width);
    let waiting = [], held = 0;
    for (let at = 0; at < width; at++) {
      const [ciphertext, fault] = payloads.next().value;
      waiting.push(this.begin(first + at, envelopes[at], ciphertext, fault, disclosures[at]));
      held += ciphertext?.length ?? 0;
      if (held > AT_ONCE || at === width - 1) {
        for (const entry of waiting) await this.checkEntry(entry);
        [waiting, held] = [[], 0];
      }
    }
    const fault = payloads.next().value;
    if (fault) this.verdict.fail("chunk", fault, first);
    this.listen.progress?.(this.archive.source.size, this.archive.source.size, this.verdict.counts.entries);
  }

  part(name, first, width, reader) {
    try {
      const items = reader(name);
      if (items.length !== width) throw new Fault(`${name}: got ${items.length} items, want ${width}`);
      return items;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.verdict.fail("chunk", `entries ${first} to ${first + width - 1}: ${error.message}`, first);
      return new Array(width).fill(null);
    }
  }

  envelopes(name) {
    const data = this.archive.read(name, format.CHUNK * (2 + 0xffff));
    const result = [];
    for (let at = 0; at < data.length; ) {
      const size = data[at] * 256 + (data[at + 1] ?? NaN);
      if (!(at + 2 + size <= data.length)) throw new Fault(`${name} ends inside an entry`);
      result.push(data.subarray(at + 2, at + 2 + size));
      at += 2 + size;
    }
    return result;
  }

  disclosures(name) {
    const data = this.archive.read(name, format.MAX_TEXT);
    if (data.length && data.at(-1) !== 10) throw new Fault(`${name} ends inside a line`);
    const lines = [];
    for (let at = 0; at < data.length; ) {
      const end = data.indexOf(10, at);
      lines.push(canonical(data.subarray(at, end)));
      at = end + 1;
    }
    return lines;
  }

  /** [ciphertext, fault] per entry; null where the file gives nothing to read. The fault is told with that entry. */
  *payloads(name, first, width) {
    let given = 0, fault = null;
    try {
      for (const frame of this.archive.frames(name, format.MAX_PAYLOAD)) {
        given++;
        if (given <= width) yield [frame, null];
      }
      if (given !== width) throw new Fault(`${name}: got ${given} payloads, want ${width}`);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      fault = `entries ${first} to ${first + width - 1}: ${error.message}`;
    }
    for (; given < width; given++, fault = null) yield [null, fault];
    return fault; // of payloads that belong to no entry
  }

  /** What can be found out about an entry by itself, with its payload being opened meanwhile. */
  begin(seq, data, ciphertext, chunkFault, disclosure) {
    const entry = { seq, data, ciphertext, chunkFault, envelope: null, fault: null };
    if (data === null) return entry;
    entry.envelope = caught(() => {
      if (!data.length) throw new Fault("the entry is missing");
      return entries.readEnvelope(data);
    }, entry);
    if (!entry.envelope) return entry;
    entry.disclosure = caught(() => entries.readDisclosure(disclosure, seq), (entry.line = {}));
    if (!entry.disclosure) return entry;
    entry.opening = settled(opened(entry.envelope, ciphertext, entry.disclosure));
    return entry;
  }

  async checkEntry(entry) {
    const { seq, data, envelope, chunkFault } = entry, { verdict } = this;
    if (chunkFault) verdict.fail("chunk", chunkFault, seq - (seq % format.CHUNK));
    verdict.counts.entries++;
    const failures = verdict.counts.failures;
    let event = null, row = null;
    if (data !== null) {
      this.tree.add(data);
      if (this.earlier.has(this.tree.size)) this.checkEarlier(seq);
      this.compareAcknowledged(data);
      if (entry.fault) verdict.fail("envelope", entry.fault.message, seq, entries.guessKind(data));
      else this.checkPlace(seq, envelope);
    }
    if (envelope) {
      try {
        event = await this.disclosed(entry);
        row = tableRow(envelope, entry.disclosure[0], event);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        verdict.fail("payload", error.message, seq, envelope.get("kind"));
      }
      if (verdict.counts.failures !== failures) row = null;
      // Later entries are measured against sound ones only, so that an altered time names one entry.
      else if (envelope.get("at") > this.latest) this.latest = envelope.get("at");
    }
    this.tables.compare(row);
    this.story.add(seq, envelope, event);
    if (envelope) this.listen.entry?.(seq, envelope, event, entry.disclosure?.[0] ?? "");
  }

  /** The entry belongs here: its number, its log, what it refers to, its time. */
  checkPlace(seq, envelope) {
    const kind = envelope.get("kind"), fail = (message) => this.verdict.fail("place", message, seq, kind);
    if (envelope.get("seq") !== seq) fail(`the entry says it is number ${envelope.get("seq")}, and stands at ${seq}`);
    if (this.head && envelope.get("log") !== this.head.log) fail(`the entry is of another log: ${envelope.get("log")}`);
    if (this.head && seq >= this.head.size) fail(`the entry lies beyond the signed head of ${this.head.size} entries`);
    if (this.sealed && ![format.ERASED_BY, format.PRUNED_BY, format.SEALED_BY].includes(kind)) {
      fail("it stands behind the seal of its session");
    }
    this.sealed ||= kind === format.SEALED_BY;
    if (envelope.get("ref") >= seq) fail(`it refers to entry ${envelope.get("ref")}, which does not come before it`);
    this.checkTime(envelope.get("at"), fail);
  }

  checkTime(text, fail) {
    const at = microseconds(text);
    if (at === null) return fail(`${text} is no time`);
    const future = BigInt(Math.round(this.now * 1000)) + BigInt(format.FUTURE_TOLERANCE) * 1_000_000n;
    if (at > future || text < "2020") fail(`its time ${text} cannot be`);
    else if (this.latest && at < microseconds(this.latest) - BigInt(format.CLOCK_TOLERANCE) * 1_000_000n) {
      fail(`its time ${text} lies before that of an earlier entry, ${this.latest}`);
    }
  }

  /** Check the payload against the envelope; the event, or the part of it that is shown, if it is disclosed. */
  async disclosed({ seq, envelope, ciphertext, disclosure, line, opening }) {
    if (!disclosure) throw line.fault;
    const [state] = disclosure, kind = envelope.get("kind"), kid = envelope.get("kid");
    if (kind === format.ERASED_BY) this.erasures.add(kid);
    if (kind === format.PRUNED_BY && !DISCLOSED.includes(state)) this.prunings.push([0, seq]);
    const { digest, event, fault } = await opening;
    if (ciphertext?.length && digest !== envelope.get("ct")) {
      throw new Fault("the payload is not the one whose hash the entry holds");
    }
    this.verdict.counts[state]++;
    if (state === "erased") this.erased.set(kid, this.erased.get(kid) ?? []).get(kid).push(seq);
    if (state === "pruned") this.pruned.push(seq);
    if (state === "erased" || state === "pruned") return null;
    if (!ciphertext?.length) throw new Fault("the payload is missing");
    if (ciphertext.length < format.MIN_PAYLOAD) {
      throw new Fault(`the payload has ${ciphertext.length} bytes, want ${format.MIN_PAYLOAD}: no key could open it`);
    }
    if (state === "indivisible" && envelope.has("pc")) {
      throw new Fault("said to be indivisible, and commits to its fields, each of which could be shown alone");
    }
    if (!DISCLOSED.includes(state)) return null;
    if (fault) throw fault;
    if (kind === format.PRUNED_BY) {
      const hidden = event instanceof Shown && !event.has("ranges");
      this.prunings.push(...(hidden ? [[0, seq]] : readRanges(event, seq)));
    }
    return event;
  }

  // --- what only the end shows

  checkTree() {
    this.tree.finish();
    for (const [name, member] of this.archive.members) {
      if (/^session\/tile\/[0-9]/.test(name) && this.tree.tiles.get(name) !== member.sha256) {
        this.verdict.fail("tree", `${name} does not hold the hashes of these entries`);
      }
    }
    if (!this.head) return;
    if (BigInt(this.tree.size) !== this.head.size) {
      this.verdict.fail("head", `the signed head has ${this.head.size} entries, got ${this.tree.size}`);
    }
    if (!equal(this.tree.root(), this.head.root)) {
      this.verdict.fail("head", "the signed root is not that of these entries: one was altered, left out, added or moved");
    }
  }

  compareAcknowledged(data) {
    const told = this.acknowledged;
    if (told && BigInt(this.tree.size) === told.size) {
      this.kept = equal(this.tree.root(), told.root) && equal(leafHash(data), told.leaf);
    }
  }

  /** The session holds what somebody was told when they gave a command. */
  checkAcknowledged() {
    const told = this.acknowledged;
    if (!told) return;
    if (this.head?.log !== told.session) throw new Fault(`the receipt is of session ${told.session}`);
    if (this.head.size < told.size) {
      throw new Fault(`${told.size} entries were acknowledged, and there are ${this.head.size}: its end was cut off`);
    }
    if (!this.kept) throw new Fault(`the first ${told.size} entries are not those that were acknowledged`);
  }

  /** Behind every erased payload there is an entry here that says so, and one of staff with its proof. */
  async checkErasures() {
    const names = [...this.archive.members.keys()].filter((name) => name.startsWith("log/erasures/"));
    const proofs = new Map(names.map((name) => [name.slice(13, -5), name]));
    for (const [kid, seqs] of this.erased) {
      if (!this.erasures.has(kid)) {
        for (const seq of seqs) this.verdict.fail("payload", "said to be erased, and no entry records the erasure", seq);
      }
      if (proofs.has(kid)) continue;
      for (const seq of seqs) this.verdict.fail("erasure", "said to be erased, and no proof says that staff erased it", seq);
    }
    for (const [kid, name] of proofs) {
      try {
        await this.checkErasure(kid, name);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        this.verdict.fail("erasure", `${name}: ${error.message}`);
      }
    }
  }

  /**
   * An entry of a log of staff, which stands under the global log's head, has the erasure of this key. Of what it says
   * only that is shown.
   */
  async checkErasure(kid, name) {
    if (!this.erased.has(kid)) throw new Fault("nothing here was erased under this key");
    if (!this.log) return;
    const said = canonical(this.archive.read(name, format.MAX_NOTE));
    const [entry, leaf, leaves, path, tenant] = membersOf(said, ["entry", "head", "leaves", "path", "tenant"], "the proof");
    if (typeof entry !== "string" || !Array.isArray(leaves) || typeof tenant !== "string" || !notes.UUID.test(tenant)) {
      throw new Fault("the proof is malformed");
    }
    const { head } = notes.readHeadLeaf(encoded(this.leafOf(leaf, "the head of staff")), this.key.name);
    const data = encoded(entry), envelope = entries.readEnvelope(data);
    const day = envelope.get("at").slice(0, 10);
    if (head.log !== (await uuid5(format.STAFF_LOGS, `${tenant}/${day}`))) {
      throw new Fault(`the head is not that of the log of staff of ${day}`);
    }
    const root = rootOfProof(BigInt(envelope.get("seq")), head.size, leafHash(data), hashes(path));
    if (!equal(root, head.root)) throw new Fault("the entry does not stand in the log of staff");
    const event = openLeaves(envelope, leaves);
    const about = format.ERASURE_KINDS.includes(event.get("kind")) && event.get("subject_key") === kid;
    if (envelope.get("log") !== head.log || !about) throw new Fault("the entry of staff is not about the erasure of this key");
  }

  /** The text of a leaf of the global log that is proven to stand under its head. */
  leafOf(leaf, name) {
    const [body, index, path] = membersOf(leaf, ["body", "index", "path"], name);
    if (typeof body !== "string" || !entries.isInteger(index)) throw new Fault(`${name} is malformed`);
    const root = rootOfProof(BigInt(index), this.log.size, leafHash(encoded(body)), hashes(path));
    if (!equal(root, this.log.root)) throw new Fault(`${name} does not stand in the log: it is for another leaf or another head`);
    return body;
  }

  checkPrunings() {
    for (const seq of this.pruned) {
      if (!this.prunings.some(([first, last]) => first <= seq && seq <= last)) {
        this.verdict.fail("payload", "said to be pruned, and no entry records that", seq);
      }
    }
  }
}

function manifestCount(manifest) {
  const good = manifest instanceof Map && manifest.size === 3 && ["entries", "files", "format"].every((name) => manifest.has(name));
  if (!good || manifest.get("format") !== format.FORMAT || !(manifest.get("files") instanceof Map)) {
    throw new Fault(`manifest.json is not that of ${format.FORMAT}`);
  }
  const count = manifest.get("entries");
  if (!entries.isInteger(count) || count < 0 || count > format.MAX_ENTRIES) {
    throw new Fault(`manifest.json: got ${quoted(count)} entries, want 0 to ${format.MAX_ENTRIES}`);
  }
  return count;
}

/** The values of an object that has exactly these members. */
function membersOf(value, names, what) {
  if (!(value instanceof Map) || value.size !== names.length || !names.every((name) => value.has(name))) {
    throw new Fault(`${what} is malformed`);
  }
  return names.map((name) => value.get(name));
}

function hashes(values) {
  if (!Array.isArray(values) || values.length > 256 || !values.every(isDigest)) throw new Fault("a list of hashes is malformed");
  return values.map(unhex);
}

/** The UUID of version 5 (RFC 9562): of SHA-1 over the namespace and the name. */
async function uuid5(namespace, name) {
  const named = joined(unhex(namespace.replaceAll("-", "")), encoded(name));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-1", named)).slice(0, 16);
  digest[6] = (digest[6] & 0x0f) | 0x50;
  digest[8] = (digest[8] & 0x3f) | 0x80;
  return hex(digest).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Whether the key signed the text in one of these lines. */
export async function anySigned(lines, text, key) {
  for (const line of lines) if ((await notes.signed(line, text, key)) !== null) return true;
  return false;
}

/** The result of `read`, or null with the fault kept in `place`. */
function caught(read, place) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    place.fault = error;
    return null;
  }
}

/** A promise that may be left alone for a while: what it fails with is kept until somebody waits for it. */
function settled(promise) {
  promise.catch(() => {});
  return promise;
}

/** {digest of the ciphertext, event, fault}: everything that can be said of a payload by itself. */
async function opened(envelope, ciphertext, [state, opens]) {
  if (!ciphertext?.length) return {};
  const digest = await entries.digestOfCiphertext(ciphertext);
  if (digest !== envelope.get("ct") || !DISCLOSED.includes(state)) return { digest };
  try {
    if (state === "partly") return { digest, event: openLeaves(envelope, opens) };
    const plain = await entries.openPayload(envelope, ciphertext, opens);
    return { digest, event: entries.readEvent(plain, envelope.get("kind")) };
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return { digest, fault };
  }
}

/** The ranges (first and last entry) that entry `seq` says were pruned; they lie before it. Fault otherwise. */
function readRanges(event, seq) {
  const ranges = event.get("ranges");
  if (!Array.isArray(ranges) || !ranges.length) throw new Fault("it names no range of pruned entries");
  return ranges.map((each) => {
    const ends = each instanceof Map && each.size === 2 ? [each.get("first"), each.get("last")] : [];
    if (!ends.length || !ends.every(entries.isInteger)) throw new Fault("a range of pruned entries is malformed");
    const [first, last] = ends;
    if (!(first >= 0 && first <= last && last < seq)) throw new Fault(`entries ${first} to ${last} do not lie before it`);
    return [first, last];
  });
}

/** Microseconds since 1970 (a BigInt) of a time of the envelope's form; null if there is no such time. */
function microseconds(text) {
  const milliseconds = Date.parse(`${text.slice(0, 23)}Z`);
  // The language takes 30 February for 1 March, and 24:00 for the next day.
  if (Number.isNaN(milliseconds) || new Date(milliseconds).toISOString() !== `${text.slice(0, 23)}Z` || text < "0001") return null;
  return BigInt(milliseconds) * 1000n + BigInt(text.slice(23, 26));
}

/** A time in milliseconds since 1970 as YYYYMMDDhhmmss. */
const secondOf = (milliseconds) => new Date(milliseconds).toISOString().replaceAll(/[-:T]|\..*/g, "");

const isoSecond = (seconds) => new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "+00:00");
