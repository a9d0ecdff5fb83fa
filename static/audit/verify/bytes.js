// Bytes, texts and hashes.
import { sha256 } from "../../vendor/noble-hashes/sha2.js";
import { Fault } from "./faults.js";

export { sha256 };

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
const octets = new TextDecoder("latin1"); // maps 0x80 to 0x9f as windows-1252 does: see `latin1`
const HEX = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, "0"));
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const CODES = new Uint8Array(128);
[...ALPHABET].forEach((letter, value) => { CODES[letter.charCodeAt(0)] = value; });

/** The text of UTF-8, or null; a byte order mark is a character like others. */
export function utf8(data) {
  try {
    return strict.decode(data);
  } catch {
    return null;
  }
}

export const encoded = (text) => encoder.encode(text);

/** One character for each byte. */
export function latin1(data) {
  if (data.every((byte) => byte < 0x80)) return octets.decode(data);
  let text = "";
  for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
  return text;
}

/** Whether all bytes are ASCII. */
export const isAscii = (data) => data.every((byte) => byte < 0x80);

export function hex(data) {
  let text = "";
  for (const byte of data) text += HEX[byte];
  return text;
}

export function unhex(text) {
  const data = new Uint8Array(text.length / 2);
  for (let at = 0; at < data.length; at++) data[at] = parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return data;
}

export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function equal(one, other) {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** The number that bytes are, most significant first (a BigInt). */
export const bigEndian = (data) => (data.length ? BigInt(`0x${hex(data)}`) : 0n);

/** Eight bytes, most significant first. */
export function eightBytes(number) {
  const data = new Uint8Array(8);
  new DataView(data.buffer).setBigUint64(0, BigInt(number));
  return data;
}

/** The bytes of base64 in its canonical spelling; Fault otherwise. */
export function unbase64(text) {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) throw new Fault("malformed base64");
  const digits = text.replace(/=+$/, "");
  const data = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let bits = 0, held = 0, at = 0;
  for (let index = 0; index < digits.length; index++) {
    bits = ((bits << 6) | CODES[digits.charCodeAt(index)]) & 0xffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      data[at++] = (bits >> held) & 0xff;
    }
  }
  if (bits & ((1 << held) - 1)) throw new Fault("base64 that is not in its canonical spelling");
  return data;
}

export function base64(data) {
  let text = "";
  for (let at = 0; at < data.length; at += 3) {
    const bits = (data[at] << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0);
    const left = data.length - at;
    text += ALPHABET[bits >> 18] + ALPHABET[(bits >> 12) & 63];
    text += (left > 1 ? ALPHABET[(bits >> 6) & 63] : "=") + (left > 2 ? ALPHABET[bits & 63] : "=");
  }
  return text;
}

const ZERO = Uint8Array.of(0), ONE = Uint8Array.of(1);

/** RFC 6962: the hash of an entry. */
export const leafHash = (data) => sha256.create().update(ZERO).update(data).digest();

/** RFC 6962: the hash of two subtrees. */
export const nodeHash = (left, right) => sha256.create().update(ONE).update(left).update(right).digest();
