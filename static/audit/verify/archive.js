// The zip, read front to back and compared with the one canonical archive of the same content. Files are stored in it,
// not deflated, so that nothing can expand.
import { equal, hex, joined, latin1, sha256 } from "./bytes.js";
import { Fault, Unreadable } from "./faults.js";
import { MAX_BUNDLE } from "./format.js";
import { cut, quoted } from "./spelling.js";

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const LOCAL = 30; // bytes of a header without the name
const DATE = 0x21; // 1 January 1980, the zero of zip
const MODE = 0o100644 * 65536;
const WINDOW = 2 ** 20; // bytes that are read at once
const NATIVE = 2 ** 24; // bytes up to which the browser hashes by itself, ten times as fast: it wants all of them at once
// CRC-32 of a byte that is followed by so many others ("slicing by 8", Intel 2006).
const TABLES = [Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
})];
for (let more = 1; more < 8; more++) TABLES.push(TABLES[more - 1].map((value) => TABLES[0][value & 0xff] ^ (value >>> 8)));

/** A file on the auditor's disk, read in windows; never whole. */
export class Source {
  constructor(file) {
    this.file = file;
    this.size = file.size;
    this.reader = new FileReaderSync();
    this.start = 0;
    this.window = new Uint8Array();
  }

  /** The bytes from `at`, at most `size`; fewer where the file ends. What lies up to `ahead` will be asked for next. */
  slice(at, size, ahead = this.size) {
    const end = Math.min(at + size, this.size);
    if (at >= end) return new Uint8Array();
    if (at < this.start || end > this.start + this.window.length) {
      this.window = this.read(at, Math.max(end, Math.min(at + WINDOW, ahead)));
      this.start = at;
    }
    return this.window.subarray(at - this.start, end - this.start);
  }

  read(at, end) {
    try {
      return new Uint8Array(this.reader.readAsArrayBuffer(this.file.slice(at, end)));
    } catch {
      throw new Unreadable("the file was changed, moved or closed while it was read");
    }
  }
}

export class Archive {
  /** `progress` is called with the bytes that are read. */
  constructor(source, verdict, progress) {
    this.source = source;
    this.verdict = verdict;
    this.progress = progress;
    this.members = new Map(); // name -> {offset, size, sha256}
    this.directory = [];
  }

  /** The content of a member of at most `limit` bytes. */
  read(name, limit) {
    const member = this.member(name);
    if (member.size > limit) throw new Fault(`${name}: got ${member.size} bytes, want at most ${limit}`);
    return member.size ? this.source.read(member.offset, member.offset + member.size) : new Uint8Array();
  }

  /** A member as a file of its own, to be read in parts. */
  window(name) {
    const member = this.member(name);
    return new Source(this.source.file.slice(member.offset, member.offset + member.size));
  }

  /** The frames of a payload file (four bytes of length, then content), one in memory at a time. */
  *frames(name, limit) {
    const member = this.member(name), end = member.offset + member.size;
    for (let at = member.offset; at < end; ) {
      const size = [...this.source.slice(at, Math.min(4, end - at), end)].reduce((value, byte) => value * 256 + byte, 0);
      if (at + 4 + size > end || size > limit) {
        throw new Fault(`${name}: a frame of ${size} bytes, want at most ${Math.min(limit, Math.max(end - at - 4, 0))}`);
      }
      yield this.source.slice(at + 4, size, end);
      at += 4 + size;
    }
  }

  member(name) {
    if (!this.members.has(name)) throw new Fault(`${name} is missing`);
    return this.members.get(name);
  }

  /** Take in all members and their digests. */
  async scan() {
    const { source, verdict } = this, total = source.size;
    if (total > MAX_BUNDLE) throw new Fault(`the bundle has ${total} bytes, want at most ${MAX_BUNDLE}`);
    let at = 0;
    while (latin1(source.slice(at, 4)) === "PK\x03\x04") at = await this.scanMember(at, total);
    const directory = joined(...this.directory);
    const expected = joined(directory, endRecord(this.members.size, directory.length, at));
    if (total - at !== expected.length || !equal(source.slice(at, expected.length), expected)) {
      verdict.fail("archive", "the table of contents is not the canonical one for these files");
    }
    const names = [...this.members.keys()];
    if (names.some((name, place) => place && name < names[place - 1])) {
      verdict.fail("archive", "the files are not in order");
    }
  }

  /** Take in the member whose header is at `at`; returns where it ends. */
  async scanMember(at, total) {
    const head = this.source.slice(at, LOCAL);
    if (head.length < LOCAL) throw new Fault("the archive ends inside a header");
    const view = new DataView(head.buffer, head.byteOffset, LOCAL);
    const size = view.getUint32(22, true), nameSize = view.getUint16(26, true), start = at + LOCAL + nameSize;
    if (nameSize > 200 || start + size > total || this.members.size >= 0xffff) {
      throw new Fault(`the archive is malformed at byte ${at}`);
    }
    const name = latin1(this.source.slice(at + LOCAL, nameSize));
    if (!NAME.test(name) || this.members.has(name)) {
      throw new Fault(`the archive holds a forbidden or repeated name: ${quoted(cut(name, 80))}`);
    }
    const found = this.source.slice(at, start - at);
    const [crc, digest] = await this.digests(start, size);
    if (!equal(found, localHeader(name, crc, size))) {
      this.verdict.fail("archive", `${name}: its header is not the canonical one for its content`);
    }
    this.members.set(name, { offset: start, size, sha256: digest });
    this.directory.push(centralHeader(name, crc, size, at));
    this.progress(start + size);
    return start + size;
  }

  /** [CRC-32, SHA-256 in hex] of a part of the file. */
  async digests(at, size) {
    if (size <= NATIVE) {
      const data = this.source.slice(at, size);
      return [crc32(data), hex(size < 4096 ? sha256(data) : new Uint8Array(await crypto.subtle.digest("SHA-256", data)))];
    }
    const digest = sha256.create();
    let crc = 0;
    for (let done = 0; done < size; done += WINDOW) {
      const block = this.source.slice(at + done, Math.min(WINDOW, size - done));
      crc = crc32(block, crc);
      digest.update(block);
      this.progress(at + done);
    }
    return [crc, hex(digest.digest())];
  }
}

function crc32(data, before = 0) {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES, whole = data.length - (data.length % 8);
  let crc = ~before, at = 0;
  for (; at < whole; at += 8) {
    crc ^= data[at] | (data[at + 1] << 8) | (data[at + 2] << 16) | (data[at + 3] << 24);
    crc = t7[crc & 0xff] ^ t6[(crc >>> 8) & 0xff] ^ t5[(crc >>> 16) & 0xff] ^ t4[crc >>> 24] ^
      t3[data[at + 4]] ^ t2[data[at + 5]] ^ t1[data[at + 6]] ^ t0[data[at + 7]];
  }
  for (; at < data.length; at++) crc = t0[(crc ^ data[at]) & 0xff] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The bytes before a member's content in the canonical archive. */
function localHeader(name, crc, size) {
  return packed(name, ["4b50", 2], ["0403", 2], [20, 2], [0, 2], [0, 2], [0, 2], [DATE, 2], [crc, 4], [size, 4], [size, 4],
    [name.length, 2], [0, 2]);
}

/** A member's line in the archive's table of contents. */
function centralHeader(name, crc, size, offset) {
  return packed(name, ["4b50", 2], ["0201", 2], [0x0314, 2], [20, 2], [0, 2], [0, 2], [0, 2], [DATE, 2], [crc, 4], [size, 4],
    [size, 4], [name.length, 2], [0, 2], [0, 2], [0, 2], [0, 2], [MODE, 4], [offset, 4]);
}

/** The last bytes of the canonical archive; no comment. */
function endRecord(members, size, offset) {
  return packed("", ["4b50", 2], ["0605", 2], [0, 2], [0, 2], [members, 2], [members, 2], [size, 4], [offset, 4], [0, 2]);
}

/** Numbers, least significant byte first (signatures in hex), then the name. */
function packed(name, ...fields) {
  const data = [];
  for (const [value, size] of fields) {
    const number = typeof value === "string" ? parseInt(value, 16) : value;
    for (let at = 0; at < size; at++) data.push(Math.floor(number / 256 ** at) & 0xff);
  }
  for (const letter of name) data.push(letter.charCodeAt(0));
  return Uint8Array.from(data);
}
