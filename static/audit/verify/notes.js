// Signed notes (C2SP signed-note), the keys that sign them, and the heads that stand in them.
import { base64, bigEndian, encoded, equal, hex, joined, latin1, leafHash, sha256, unbase64, utf8 } from "./bytes.js";
import { verifies } from "./ed25519.js";
import { Fault } from "./faults.js";
import { AFTER } from "./format.js";
import { cut, quoted } from "./spelling.js";

export const LOG = 1, WITNESS = 4; // the types of key that notes know: a log's signature, a witness's cosignature
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const P = 2n ** 255n - 19n;
const SMALL_ORDER = new Set([
  0n, 1n, P - 1n,
  ...["26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"].map((text) => littleEndian(text)),
]);
const NUMBER = /^(?:0|[1-9][0-9]{0,15})$/;
const SPACE = /[\x00-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/; // and control characters

function littleEndian(text) {
  return BigInt(`0x${text.match(/../g).reverse().join("")}`);
}

/** An Ed25519 key as a vkey names it: name+id+base64(type and 32 bytes). */
export class LogKey {
  constructor(name, bytes, form) {
    this.name = name;
    this.bytes = bytes;
    this.form = form;
    this.public = hex(bytes);
    const typed = joined(Uint8Array.of(form), bytes);
    this.keyId = sha256(joined(encoded(`${name}\n`), typed)).subarray(0, 4);
    this.vkey = `${name}+${hex(this.keyId)}+${base64(typed)}`;
  }
}

/** Parse a vkey, strictly; keys of small order are refused, for anybody could sign under them. */
export function readVkey(text, form = LOG) {
  const [, name, id, rest] = /^([^+]*)\+([^+]*)\+(.*)$/s.exec(text) ?? [];
  if (name === undefined || !isName(name)) throw new Fault("the key is not a vkey (name+id+base64)");
  const raw = unbase64(rest);
  if (raw.length !== 33 || raw[0] !== form) throw new Fault(`the key is not an Ed25519 vkey of type ${form}`);
  const key = new LogKey(name, raw.subarray(1), form);
  const y = littleEndian(key.public) & (2n ** 255n - 1n);
  if (y >= P || SMALL_ORDER.has(y)) throw new Fault("the key is of small order or not canonical");
  if (key.vkey !== text) {
    throw new Fault(`the key's id does not belong to it: got ${quoted(id)}, want ${quoted(hex(key.keyId))}`);
  }
  return key;
}

/** The text of a note that `key` signed. With `alone`, no other signature may stand beside it. */
export async function openNote(data, key, alone) {
  const [text, lines] = splitNote(data);
  if (alone && lines.length > 1) throw new Fault(`the note has ${lines.length} signatures`);
  let found = false;
  for (const line of lines) found = (await signed(line, text, key)) !== null || found;
  if (!found) throw new Fault(`the note is not signed by ${key.vkey}`);
  return text;
}

/** [text, signature lines] of a note, on its exact bytes; no signature is looked at. */
export function splitNote(data) {
  const whole = utf8(data);
  if (whole === null) throw new Fault("the note is not UTF-8");
  const end = whole.lastIndexOf("\n\n");
  const text = whole.slice(0, end + 1), block = whole.slice(end + 2);
  if (end < 0 || !block.endsWith("\n") || /[\x00-\x09\x0b-\x1f]/.test(text)) throw new Fault("the note is malformed");
  const lines = block.slice(0, -1).split("\n");
  if (lines.length > 100) throw new Fault(`the note has ${lines.length} signatures`);
  return [text, lines];
}

/**
 * When the key signed `text` by this line (seconds since 1970, a BigInt; 0 of a log's, which tells no time); null if
 * the line is another key's, Fault if it is wrong.
 */
export async function signed(line, text, key) {
  const [mark, rest] = parted(line);
  const [name, encodedValue] = parted(rest);
  const value = unbase64(encodedValue);
  if (mark !== "—" || !isName(name) || value.length < 5) throw new Fault("the note has a malformed signature line");
  if (name !== key.name || hex(value.subarray(0, 4)) !== hex(key.keyId)) return null;
  let at = 0n, signature = value.subarray(4), body = text;
  if (key.form === WITNESS) {
    at = bigEndian(signature.subarray(0, 8));
    signature = signature.subarray(8);
    body = `cosignature/v1\ntime ${at}\n${text}`;
  }
  if (!(await verifies(key.bytes, signature, encoded(body)))) {
    throw new Fault(`the signature of ${key.name} does not match the note`);
  }
  return at;
}

function parted(text) {
  const at = text.indexOf(" ");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

const isName = (name) => name !== "" && !name.includes("+") && !SPACE.test(name);

/** A head: of a session (`log` is its id) or of the global log (""); size is a BigInt, root 32 bytes. */
function readBody(text) {
  const lines = text.split("\n");
  if (lines.length !== 4 || lines[3] || !NUMBER.test(lines[1])) {
    throw new Fault("the head is not three lines of origin, size and root");
  }
  return [lines[0], { log: "", size: BigInt(lines[1]), root: readHash(lines[2]) }];
}

/** Parse the body of a checkpoint of a session of the log called `name`. */
export function readSessionHead(text, name) {
  const [origin, head] = readBody(text);
  const split = origin.lastIndexOf("/s/");
  const prefix = split < 0 ? "" : origin.slice(0, split), log = split < 0 ? origin : origin.slice(split + 3);
  if (prefix !== name || !UUID.test(log)) {
    throw new Fault(`the head's origin is ${quoted(cut(origin, 120))}, want ${name}/s/ and a session id`);
  }
  return { ...head, log };
}

/** Parse the body of a checkpoint of the global log called `name`. */
export function readLogHead(text, name) {
  const [origin, head] = readBody(text);
  if (origin !== name) throw new Fault(`the head's origin is ${quoted(cut(origin, 120))}, want ${name}`);
  return head;
}

/**
 * Parse a leaf that says the head of a session of the log called `name`: {body, head, before}, where `before` is the
 * index and the hash of the leaf that said its head before, or null.
 */
export function readHeadLeaf(body, name) {
  const text = utf8(body);
  if (text === null) throw new Fault("the leaf of the head is not UTF-8");
  const lines = text.split("\n");
  const head = readSessionHead([...lines.slice(0, 3), ""].join("\n"), name);
  if (lines.length === 4 && !lines[3]) return { body, head, before: null };
  const words = lines.length === 5 && !lines[4] ? lines[3].split(" ") : [];
  if (words.length !== 3 || words[0] !== AFTER || !NUMBER.test(words[1])) {
    throw new Fault("the leaf of the head is malformed after its third line");
  }
  return { body, head, before: [BigInt(words[1]), readHash(words[2])] };
}

/**
 * The leaves that said a session's heads before leaf `index`, `last`, did: oldest first, one behind the other. Fault
 * unless each is the one that the next names.
 */
export function readHeads(data, last, index, name) {
  if (data.length && data.at(-1) !== 10) throw new Fault("log/heads ends inside a line");
  const leaves = [];
  for (let at = 0, lines = 0; at < data.length; lines++) {
    const end = data.indexOf(10, at) + 1;
    if (!leaves.length || (lines >= 3 && !latin1(data.subarray(at, end)).startsWith(`${AFTER} `))) {
      leaves.push([at, end]);
      lines = 0;
    } else leaves.at(-1)[1] = end;
    at = end;
  }
  const found = [];
  for (const [start, end] of leaves.reverse()) {
    const leaf = readHeadLeaf(data.slice(start, end), name);
    if (!last.before || !equal(last.before[1], leafHash(leaf.body)) || last.before[0] >= index) {
      throw new Fault("log/heads holds a leaf that the one after it does not name");
    }
    if (leaf.head.log !== last.head.log || leaf.head.size > last.head.size) {
      throw new Fault(`the log said ${leaf.head.size} entries, and then ${last.head.size}: the session was cut off`);
    }
    index = last.before[0];
    last = leaf;
    found.unshift(leaf);
  }
  if (last.before) throw new Fault(`log/heads does not hold leaf ${last.before[0]}, which said the session's head before`);
  return found;
}

/** A hash of 32 bytes, from base64. */
export function readHash(text) {
  const value = unbase64(text);
  if (value.length !== 32) throw new Fault(`a hash has ${value.length} bytes, want 32`);
  return value;
}

/** Whether a signed head is one of the global log: the origin of a session's has /s/ before its id. */
export const isOfLog = (held) => !latin1(held).split("\n", 1)[0].includes("/s/");

/** Whether a text is a number as heads and proofs write it. */
export const isNumber = (text) => NUMBER.test(text);
