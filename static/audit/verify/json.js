// Strict JSON: no repeated keys, numbers that are no integers keep their text, nothing is rounded.
//
// Values: null, booleans, strings, arrays; integers are numbers below 2^53 and BigInts from there; other numbers are
// `Num`; objects are Maps, so that no name means anything to the language.
import { encoded, hex, sha256, utf8 } from "./bytes.js";
import { Fault, Hidden } from "./faults.js";

/** A JSON number that is not an integer, as the text in which it was written. */
export class Num {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** What is shown of an object that may have other members; those are asked for in vain, not missing. */
export class Shown extends Map {}

const DEPTH = 950; // audit/verify.py ends near 1,000, where Python's own recursion does
const DIGITS = 4300; // of an integer, as Python has it
const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const BARE = /^[^\\\x00-\x1f]*$/;
const SPACE = /[ \t\n\r]*/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** The value of canonical JSON (RFC 8785; ASCII keys, integers below 2^53 only); Fault on other bytes. */
export function canonical(data) {
  const text = utf8(data);
  const value = parse(text);
  if (writeCanonical(value) !== text) throw new Fault("not canonical JSON");
  return value;
}

/** Any JSON without repeated keys. */
export function strictJson(data) {
  return parse(utf8(data));
}

function parse(text) {
  try {
    if (text === null) throw new SyntaxError("not UTF-8");
    const reader = new Reader(text, pastSpace(text, 0));
    const value = reader.value(0);
    if (pastSpace(text, reader.at) !== text.length) throw new SyntaxError("more than one value");
    return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Fault("not valid JSON");
  }
}

/** [value, where it ends] of the JSON value at `at`, read as loosely as fields are parted; SyntaxError if there is none. */
export function scan(text, at) {
  const reader = new Reader(text, at, true);
  const value = reader.value(0);
  return [value, reader.at];
}

/** The place of the next character that is no space. */
export function pastSpace(text, at) {
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}

class Reader {
  constructor(text, at, loose = false) {
    this.text = text;
    this.at = at;
    this.loose = loose;
  }

  value(depth) {
    if (depth > DEPTH) throw new SyntaxError("nested too deeply");
    switch (this.text[this.at]) {
      case '"': return this.string();
      case "{": return this.object(depth);
      case "[": return this.array(depth);
      case "t": return this.word("true", true);
      case "f": return this.word("false", false);
      case "n": return this.word("null", null);
      default: return this.number();
    }
  }

  word(text, value) {
    if (!this.text.startsWith(text, this.at)) throw new SyntaxError("no value");
    this.at += text.length;
    return value;
  }

  number() {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (!found) return this.constant();
    this.at = NUMBER.lastIndex;
    if (this.loose || found[2] || found[3]) return new Num(found[0]);
    if (found[1].length < 16) return Number(found[1]) || 0; // || 0: not the -0 that -0 would be
    if (found[1].replace("-", "").length > DIGITS) throw new SyntaxError("a number too long");
    const exact = BigInt(found[1]);
    return exact > -9007199254740992n && exact < 9007199254740992n ? Number(exact) : exact;
  }

  constant() {
    const name = this.loose && ["NaN", "Infinity", "-Infinity"].find((each) => this.text.startsWith(each, this.at));
    if (!name) throw new SyntaxError("no value");
    return this.word(name, null); // is no name, which is all that matters of it
  }

  string() {
    const start = ++this.at;
    const end = this.text.indexOf('"', start);
    if (end < 0) throw new SyntaxError("a text without end");
    const bare = this.text.slice(start, end);
    if (BARE.test(bare)) {
      this.at = end + 1;
      return bare;
    }
    return this.escaped();
  }

  escaped() {
    const parts = [];
    for (let from = this.at; ; ) {
      const code = this.text.charCodeAt(this.at);
      if (!(code >= 0x20)) throw new SyntaxError("a control character, or no end"); // NaN at the end
      if (code === 0x22) {
        parts.push(this.text.slice(from, this.at++));
        return parts.join("");
      }
      this.at++;
      if (code === 0x5c) {
        parts.push(this.text.slice(from, this.at - 1), this.escape());
        from = this.at;
      }
    }
  }

  escape() {
    const letter = this.text[this.at++];
    if (letter !== "u") {
      if (!Object.hasOwn(ESCAPES, letter ?? "")) throw new SyntaxError("an unknown escape");
      return ESCAPES[letter];
    }
    const digits = this.text.slice(this.at, this.at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new SyntaxError("an unknown escape");
    this.at += 4;
    return String.fromCharCode(parseInt(digits, 16));
  }

  array(depth) {
    const items = [];
    if (this.opens("]")) return items;
    do items.push(this.value(depth + 1));
    while (this.goesOn("]"));
    return items;
  }

  object(depth) {
    const members = new Map();
    if (this.opens("}")) return members;
    do {
      if (this.text[this.at] !== '"') throw new SyntaxError("no name");
      const name = this.string();
      this.at = pastSpace(this.text, this.at);
      this.word(":");
      this.at = pastSpace(this.text, this.at);
      if (members.has(name) && !this.loose) throw new SyntaxError("a key appears twice");
      members.set(name, this.value(depth + 1));
    } while (this.goesOn("}"));
    return members;
  }

  /** Past the opening mark; true if the closing one follows at once. */
  opens(closing) {
    this.at = pastSpace(this.text, this.at + 1);
    if (this.text[this.at] !== closing) return false;
    this.at++;
    return true;
  }

  /** Behind an item: past a comma (true), or past the closing mark. */
  goesOn(closing) {
    this.at = pastSpace(this.text, this.at);
    const mark = this.text[this.at++];
    if (mark === closing) return false;
    if (mark !== ",") throw new SyntaxError("neither comma nor end");
    this.at = pastSpace(this.text, this.at);
    return true;
  }
}

/** Order of Unicode code points; that of the language is by halves of them. */
export function byCodePoint(one, other) {
  const size = Math.min(one.length, other.length);
  for (let at = 0; at < size; at++) {
    const first = one.charCodeAt(at), second = other.charCodeAt(at);
    if (first !== second) return rank(first) - rank(second);
  }
  return one.length - other.length;
}

const rank = (unit) => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x10000 : unit);

/** The canonical text of a value; Fault if the profile has no room for it. */
export function writeCanonical(value) {
  checkProfile(value, 0);
  return write(value, "not canonical JSON");
}

function checkProfile(value, depth) {
  if (Array.isArray(value) || value instanceof Map) {
    if (depth >= 100) throw new Fault("not canonical JSON: nested too deeply");
    if (value instanceof Map && ![...value.keys()].every((key) => /^[\x00-\x7f]*$/.test(key))) {
      throw new Fault("not canonical JSON: a key that is not ASCII");
    }
    for (const item of value.values()) if (typeof item !== "string") checkProfile(item, depth + 1);
  } else if (value instanceof Num || typeof value === "bigint") {
    throw new Fault("not canonical JSON: a number that is no integer below 2^53");
  }
}

/** SHA-256, in hex, over the JSON array of `parts` with sorted keys, as events compute their digests. */
export function digestOf(...parts) {
  return hex(sha256(encoded(write(parts, "a value that no event can hold"))));
}

function write(value, otherwise) {
  if (typeof value === "string") return quote(value, otherwise);
  if (value instanceof Shown) throw new Hidden();
  if (Array.isArray(value)) return `[${value.map((item) => write(item, otherwise)).join(",")}]`;
  if (value instanceof Map) {
    const names = [...value.keys()].sort(byCodePoint);
    return `{${names.map((name) => `${quote(name, otherwise)}:${write(value.get(name), otherwise)}`).join(",")}}`;
  }
  return String(value);
}

/** A text as JSON has it; Fault where half a character stands alone. */
export function quote(text, otherwise) {
  if (!text.isWellFormed()) throw new Fault(otherwise);
  return JSON.stringify(text);
}
