// Field commitments: the members of a payload in the order of their names, an object of up to 32 members replaced by
// its own down to the fourth name; each hashed with a salt of its own, which follows from the entry's key.
import { shake256 } from "../../vendor/noble-hashes/sha3.js";
import { encoded, hex, joined, unhex, utf8 } from "./bytes.js";
import { Fault } from "./faults.js";
import { byCodePoint, Num, pastSpace, quote, scan, Shown, strictJson } from "./json.js";
import { told } from "./spelling.js";
import { Tree } from "./tree.js";

const LABEL = encoded("agentstate/fields/v1");
const NO_FIELDS = "the payload has no fields that could be hashed";

/** The RFC 6962 root over the salted fields of a payload. */
export function fieldsRoot(okm, payload) {
  let texts;
  try {
    const text = utf8(payload);
    if (text === null) throw new SyntaxError("not UTF-8");
    texts = [...fields(text, "/", 1)];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Fault(NO_FIELDS);
  }
  const salts = shake256(joined(okm, LABEL), { dkLen: 16 * texts.length });
  const tree = new Tree();
  texts.forEach((text, at) => tree.add(joined(salts.subarray(16 * at, 16 * at + 16), encoded(text))));
  return tree.root();
}

/** `"pointer":value` of each field of the JSON object `text`. */
function* fields(text, prefix, depth) {
  const members = new Map(partedMembers(text));
  for (const name of [...members.keys()].sort(byCodePoint)) {
    const value = members.get(name), pointer = prefix + name.replaceAll("~", "~0").replaceAll("/", "~1");
    const inner = value[0] === "{" && depth <= 4 ? [...partedMembers(value)].length : 0;
    if (inner >= 1 && inner <= 32) yield* fields(value, `${pointer}/`, depth + 1);
    else yield `${quote(pointer, NO_FIELDS)}:${value}`;
  }
}

/** The names of a JSON object, and their values as they are written. Whether it is JSON at all is told elsewhere. */
function* partedMembers(text) {
  let at = pastSpace(text, 0);
  if (text[at] !== "{") throw new SyntaxError("no object");
  at = pastSpace(text, at + 1);
  while (text[at] !== "}") {
    const [name, end] = scan(text, at);
    if (typeof name !== "string" && !(name instanceof Num)) throw new SyntaxError("no name");
    const start = pastSpace(text, pastSpace(text, end) + 1);
    const [, stop] = scan(text, start);
    yield [told(name), text.slice(start, stop)];
    at = pastSpace(text, stop);
    if (text[at] === ",") at = pastSpace(text, at + 1);
    if (at >= text.length) throw new SyntaxError("no end");
  }
}

/**
 * What is shown of an event whose fields stand in `leaves`, in order: [pointer, salt, value], or the hash of one that
 * is hidden. Fault unless they are the fields that the entry commits to.
 */
export function openLeaves(envelope, leaves) {
  if (!envelope.has("pc")) throw new Fault("an entry of version 1 commits to no fields, so that none can be shown alone");
  const tree = new Tree(), event = new Shown();
  let before = null;
  for (const leaf of leaves) {
    if (isDigest(leaf)) {
      tree.addHash(unhex(leaf));
      continue;
    }
    const [names, bytes, value] = shown(leaf);
    if (before && !follows(before, names)) throw new Fault("the fields that are shown are not in order");
    tree.add(bytes);
    let inner = event;
    for (const name of names.slice(0, -1)) {
      if (!inner.has(name)) inner.set(name, new Shown());
      inner = inner.get(name);
    }
    inner.set(names.at(-1), value);
    before = names;
  }
  if (hex(tree.root()) !== envelope.get("pc")) {
    throw new Fault("the fields that are shown are not those that the entry commits to");
  }
  if (event.get("kind") !== envelope.get("kind")) {
    throw new Fault(`the payload is not shown to be an event of kind ${envelope.get("kind")}`);
  }
  return event;
}

/** Whether one list of names comes after another and is not within it. */
function follows(before, names) {
  for (let at = 0; at < before.length; at++) {
    if (at === names.length) return false;
    const order = byCodePoint(names[at], before[at]);
    if (order) return order > 0;
  }
  return false;
}

/** [names of the pointer, salt and text that are hashed, value] of a field that is shown. */
function shown(leaf) {
  if (!Array.isArray(leaf) || leaf.length !== 3 || !leaf.every((part) => typeof part === "string")) {
    throw new Fault("a field that is shown is not [pointer, salt, value]");
  }
  const [pointer, salt, text] = leaf;
  const names = pointer.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const wellFormed = pointer.startsWith("/") && !/~(?![01])/.test(pointer);
  if (!wellFormed || !/^[0-9a-f]{32}$/.test(salt) || names.length > 5) throw new Fault("a field that is shown is malformed");
  const value = strictJson(encoded(text));
  const inner = names.length <= 4 && value instanceof Map && value.size >= 1 && value.size <= 32;
  if (/^[ \t\n\r]|[ \t\n\r]$/.test(text) || inner) {
    throw new Fault("a field that is shown is no field: it has space around it, or members of its own");
  }
  return [names, joined(unhex(salt), encoded(`${JSON.stringify(pointer)}:${text}`)), value];
}

/** Whether a value is a SHA-256 digest in hex. */
export const isDigest = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
