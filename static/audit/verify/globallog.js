// What proves that a head stands in the global log: tlog-proofs, the head map, consistency, the COSE receipt.
import { bigEndian, eightBytes, encoded, equal, isAscii, joined, latin1, leafHash, nodeHash, sha256, unbase64 } from "./bytes.js";
import { verifies } from "./ed25519.js";
import { Fault } from "./faults.js";
import { PROOF_TITLE } from "./format.js";
import { isNumber, readHash } from "./notes.js";

/** {body, index (BigInt), path, checkpoint} of a C2SP tlog-proof; Fault on bytes that the format would not write. */
export function readProof(data) {
  let end = 0;
  while (end + 1 < data.length && (data[end] !== 10 || data[end + 1] !== 10)) end++;
  const blank = end + 1 < data.length;
  const top = blank ? data.subarray(0, end) : data;
  if (!isAscii(top)) throw new Fault("the proof is not ASCII");
  const lines = latin1(top).split("\n");
  if (lines.length < 3 || lines[0] !== PROOF_TITLE || !blank || lines.length > 70) {
    throw new Fault("the proof is not a tlog-proof with its leaf as extra data");
  }
  const extra = lines[1].slice(6), index = lines[2].slice(6);
  if (lines[1] !== `extra ${extra}` || lines[2] !== `index ${index}` || !isNumber(index)) {
    throw new Fault("the proof is malformed");
  }
  return { body: unbase64(extra), index: BigInt(index), path: lines.slice(3).map(readHash), checkpoint: data.subarray(end + 2) };
}

/**
 * The root of a head map that says: the newest head of `log` is leaf `index` and has `size` entries. The map is a
 * compact sparse Merkle tree over SHA-256 of the log's origin; `siblings` stand from the leaf up.
 */
export function rootOfMap(origin, log, index, size, siblings) {
  const key = sha256(encoded(`${origin}/s/${log}`));
  const bits = bigEndian(key);
  let value = leafHash(joined(key, eightBytes(index), eightBytes(size)));
  siblings.forEach((other, at) => {
    const depth = siblings.length - 1 - at;
    value = (bits >> BigInt(255 - depth)) & 1n ? nodeHash(other, value) : nodeHash(value, other);
  });
  return value;
}

/** The hashes of a consistency proof: one a line, in base64. */
export function readHashes(data) {
  const text = latin1(data);
  if (text && !text.endsWith("\n")) throw new Fault("the consistency proof ends inside a line");
  return text.split("\n").slice(0, -1).map(readHash);
}

/**
 * Fault unless `data` is the COSE receipt (RFC 9942) of the leaf of `proof` under `head`, signed by `key`. All but
 * the signature follows from the proof, so it is written anew and compared, not parsed.
 */
export async function checkReceipt(data, key, head, proof) {
  const keyName = `${key.name}+${key.vkey.slice(key.name.length + 1).slice(0, 8)}`;
  const header = mapping([[number(1), number(-8)], [number(4), bytes(encoded(keyName))],
    [number(15), mapping([[number(1), text(key.name)], [number(2), text(String(head.size))]])], [number(395), number(1)]]);
  const inclusion = list([number(head.size), number(proof.index), list(proof.path.map(bytes))]);
  const proofs = mapping([[number(396), mapping([[number(-1), list([bytes(inclusion)])]])]]);
  const expected = joined(Uint8Array.of(0xd2, 0x84), bytes(header), proofs, Uint8Array.of(0xf6), start(2, 64));
  const split = Math.max(data.length - 64, 0);
  if (!equal(data.subarray(0, split), expected)) {
    throw new Fault("receipts/head.cbor is not the receipt of this head by this key");
  }
  const toBeSigned = list([text("Signature1"), bytes(header), bytes(new Uint8Array()), bytes(head.root)]);
  if (!(await verifies(key.bytes, data.subarray(split), toBeSigned))) {
    throw new Fault("receipts/head.cbor: its signature does not match");
  }
}

// Deterministic CBOR (RFC 8949 section 4.2), as much as the receipt needs.
const number = (value) => (value >= 0 ? start(0, value) : start(1, -1 - Number(value)));
const bytes = (data) => joined(start(2, data.length), data);
const text = (value) => joined(start(3, encoded(value).length), encoded(value));
const list = (items) => joined(start(4, items.length), ...items);
const mapping = (pairs) => joined(start(5, pairs.length), ...pairs.flat());

function start(major, count) {
  if (count < 24) return Uint8Array.of((major << 5) | Number(count));
  const extra = count >= 2 ** 32 ? 3 : count >= 2 ** 16 ? 2 : count >= 2 ** 8 ? 1 : 0;
  return joined(Uint8Array.of((major << 5) | (24 + extra)), eightBytes(count).subarray(8 - 2 ** extra));
}
