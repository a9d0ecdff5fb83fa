// RFC 3161 timestamps, as far as one asks what is stamped, and when. Their signature is for `openssl ts -verify`.
import { bigEndian, isAscii, latin1 } from "./bytes.js";
import { Fault } from "./faults.js";

/** [SHA-256 that is stamped, time] of a response. */
export function readTimestamp(data) {
  let digest, at;
  try {
    const token = pick(der(pick(der(data), 0)), 1);
    const signed = der(pick(der(pick(der(token), 1)), 0));
    const content = der(pick(der(pick(der(pick(der(pick(signed, 2)), 1)), 0)), 0));
    digest = pick(der(pick(content, 2)), 1);
    const time = pick(content, 4);
    if (!isAscii(time)) throw new RangeError("no time");
    at = latin1(time);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Fault("the timestamp is not an RFC 3161 response");
  }
  if (digest.length !== 32 || !/^[0-9]{14}(\.[0-9]+)?Z$/.test(at)) {
    throw new Fault("the timestamp is not over SHA-256, or tells no time");
  }
  return [digest, at];
}

function pick(items, at) {
  if (at >= items.length) throw new RangeError("no such item");
  return items[at];
}

/** The contents of the DER items that stand one after another in `data`. */
function der(data) {
  const items = [];
  for (let at = 0; at < data.length; ) {
    let size = data[at + 1];
    at += 2;
    if (size & 0x80) {
      const count = size & 0x7f;
      if (count < 1 || count > 4) throw new RangeError("no length");
      size = Number(bigEndian(data.subarray(at, at + count)));
      at += count;
    }
    if (!(at + size <= data.length)) throw new RangeError("beyond the end"); // NaN where there is no length
    items.push(data.subarray(at, at + size));
    at += size;
  }
  return items;
}
