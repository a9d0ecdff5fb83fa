// RFC 3161 timestamps, as far as one asks what is stamped, and when. Their signature is for `openssl ts -verify`.
import { bigEndian, isAscii, latin1 } from "./bytes.js";
import { Fault } from "./faults.js";

/** [SHA-256 that is stamped, time, when the first of its authority's certificates ends or ""] of a response. */
export function readTimestamp(data) {
  let digest, at, until;
  try {
    const token = pick(der(pick(der(data), 0)), 1);
    const signed = der(pick(der(pick(der(token), 1)), 0));
    const content = der(pick(der(pick(der(pick(der(pick(signed, 2)), 1)), 0)), 0));
    digest = pick(der(pick(content, 2)), 1);
    const time = pick(content, 4);
    if (!isAscii(time)) throw new RangeError("no time");
    at = latin1(time);
    const certificates = signed.length > 3 && signed[3].tag === 0xa0 ? der(pick(signed, 3)) : [];
    until = certificates.map(({ content }) => endOf(content)).sort()[0] ?? "";
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Fault("the timestamp is not an RFC 3161 response");
  }
  if (digest.length !== 32 || !/^[0-9]{14}(\.[0-9]+)?Z$/.test(at)) {
    throw new Fault("the timestamp is not over SHA-256, or tells no time");
  }
  return [digest, at, until];
}

/** When an X.509 certificate ends, in the form YYYYMMDDhhmmssZ. */
function endOf(certificate) {
  const fields = der(pick(der(certificate), 0));
  const validity = der(pick(fields, fields.length && fields[0].tag === 0xa0 ? 4 : 3));
  const value = pick(validity, 1);
  if (!isAscii(value)) throw new RangeError("no time");
  let text = latin1(value);
  if (validity[1].tag === 0x17) text = (text >= "5" ? "19" : "20") + text; // UTCTime, of the years 1950 to 2049
  if (!/^[0-9]{14}Z$/.test(text)) throw new RangeError("no time");
  return text;
}

function pick(items, at) {
  if (at >= items.length) throw new RangeError("no such item");
  return items[at].content;
}

/** {tag, content} of the DER items that stand one after another in `data`. */
function der(data) {
  const items = [];
  for (let at = 0; at < data.length; ) {
    const tag = data[at];
    let size = data[at + 1];
    at += 2;
    if (size & 0x80) {
      const count = size & 0x7f;
      if (count < 1 || count > 4) throw new RangeError("no length");
      size = Number(bigEndian(data.subarray(at, at + count)));
      at += count;
    }
    if (!(at + size <= data.length)) throw new RangeError("beyond the end"); // NaN where there is no length
    items.push({ tag, content: data.subarray(at, at + size) });
    at += size;
  }
  return items;
}
