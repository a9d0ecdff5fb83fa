// RFC 6962 trees: roots and tiles leaf by leaf, inclusion and consistency.
import { equal, hex, leafHash, nodeHash, sha256 } from "./bytes.js";
import { Fault } from "./faults.js";
import { CHUNK, tilePath } from "./format.js";

const EMPTY = sha256(new Uint8Array());

/** Keeps the roots of perfect subtrees. */
export class Tree {
  constructor() {
    this.size = 0;
    this.subtrees = [];
  }

  add(entry) {
    this.addHash(leafHash(entry));
  }

  /** Add a leaf of which the hash is known. */
  addHash(leaf) {
    this.size++;
    let carried = leaf;
    for (let subtree = this.size; subtree % 2 === 0; subtree /= 2) carried = nodeHash(this.subtrees.pop(), carried);
    this.subtrees.push(carried);
  }

  root() {
    return this.subtrees.length ? this.subtrees.reduceRight((right, left) => nodeHash(left, right)) : EMPTY;
  }
}

/** A tree that also keeps the digests of the tiles which its hashes make. */
export class TiledTree extends Tree {
  constructor() {
    super();
    this.levels = []; // the hashes of the tile at each level that is being filled
    this.tiles = new Map(); // name of tile -> sha256 of its content
  }

  addHash(leaf) {
    this.tile(0, leaf, this.size);
    super.addHash(leaf);
  }

  /** Write down the partial tiles, once the last entry is in. */
  finish() {
    this.levels.forEach((hashes, level) => {
      if (hashes.length) this.write(level, Math.floor(this.size / 256 ** level / CHUNK), hashes);
    });
  }

  tile(level, value, index) {
    if (level === this.levels.length) this.levels.push([]);
    const hashes = this.levels[level];
    hashes.push(value);
    if (hashes.length === CHUNK) {
      const place = Math.floor(index / CHUNK);
      this.write(level, place, hashes);
      this.tile(level + 1, perfect(hashes), place);
      this.levels[level] = [];
    }
  }

  write(level, index, hashes) {
    const content = sha256.create();
    for (const hash of hashes) content.update(hash);
    this.tiles.set(`session/tile/${level}/${tilePath(index, hashes.length)}`, hex(content.digest()));
  }
}

function perfect(hashes) {
  let row = hashes;
  while (row.length > 1) row = Array.from({ length: row.length / 2 }, (_, at) => nodeHash(row[2 * at], row[2 * at + 1]));
  return row[0];
}

/** The root to which an inclusion proof leads (RFC 9162 section 2.1.3.2). Index and size are BigInts. */
export function rootOfProof(index, size, leaf, path) {
  if (!(index >= 0n && index < size)) throw new Fault(`the proof is for leaf ${index} of ${size}`);
  const inner = bits(index ^ (size - 1n)).length;
  const want = inner + bits(index >> BigInt(inner)).replaceAll("0", "").length;
  if (path.length !== want) throw new Fault(`the proof has ${path.length} hashes, want ${want}`);
  let value = leaf;
  path.forEach((other, level) => {
    const onTheLeft = level >= inner || (index >> BigInt(level)) & 1n;
    value = onTheLeft ? nodeHash(other, value) : nodeHash(value, other);
  });
  return value;
}

const bits = (number) => (number ? number.toString(2) : "");

/** Fault unless the log of `next` begins with that of `old` (RFC 9162 section 2.1.4.2). */
export function checkConsistency(old, next, path) {
  const wrong = new Fault(`the log of ${next.size} entries does not continue the one of ${old.size}: two histories`);
  if (old.size > next.size) throw new Fault(`the log has ${next.size} entries, and had ${old.size} before: it was cut off`);
  if (old.size === 0n || old.size === next.size) {
    if (path.length || !equal(old.root, old.size ? next.root : EMPTY)) throw wrong;
    return;
  }
  const hashes = old.size & (old.size - 1n) ? path : [old.root, ...path];
  let node = old.size - 1n, last = next.size - 1n;
  for (; node & 1n; node >>= 1n) last >>= 1n;
  if (!hashes.length) throw wrong;
  let first = hashes[0], second = hashes[0];
  for (const value of hashes.slice(1)) {
    if (!last) throw wrong;
    if (node & 1n || node === last) {
      first = nodeHash(value, first);
      second = nodeHash(value, second);
      for (; node && !(node & 1n); node >>= 1n) last >>= 1n;
    } else {
      second = nodeHash(second, value);
    }
    node >>= 1n;
    last >>= 1n;
  }
  if (last || !equal(first, old.root) || !equal(second, next.root)) throw wrong;
}
