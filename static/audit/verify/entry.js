// One entry: its envelope, its payload, and the line that discloses it.
import { encoded, hex, sha256, unhex } from "./bytes.js";
import { Fault } from "./faults.js";
import { fieldsRoot } from "./fields.js";
import { CLOSED, MAX_PAYLOAD } from "./format.js";
import { canonical, Num, strictJson, writeCanonical } from "./json.js";
import { UUID } from "./notes.js";
import { quoted, told } from "./spelling.js";

const DIGEST = /^[0-9a-f]{64}$/, INTEGER = null;
const ENVELOPE = {
  actor: /^[^\x00-\x1f]{1,200}$/u,
  at: /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$/,
  cmd: UUID,
  ct: DIGEST,
  epoch: INTEGER,
  kc: DIGEST,
  kid: UUID,
  kind: /^[a-z][a-z_]*(?:\.[a-z][a-z_]*)+$/,
  log: UUID,
  pc: DIGEST, // not in version 1
  ref: INTEGER,
  salt: /^[0-9a-f]{32}$/,
  seq: INTEGER,
  v: INTEGER,
};
const SLICE = 2 ** 14; // bytes given to the browser's unpacker at once: each may become a thousand times as many
const NATIVE = 4096; // bytes from which the browser's own hash is faster, its detour included
const subtle = globalThis.crypto?.subtle;

/** Whether a JSON value is an integer. */
export const isInteger = (value) => typeof value === "number" || typeof value === "bigint";

/** The envelope of an entry (a Map); Fault unless it has exactly the keys and forms of its version. */
export function readEnvelope(data) {
  const envelope = canonical(data);
  const version = envelope instanceof Map ? envelope.get("v") ?? null : null;
  if (version !== 1 && version !== 2) throw new Fault(`the envelope is of version ${quoted(version)}, want 1 or 2`);
  const names = Object.keys(ENVELOPE).filter((name) => version === 2 || name !== "pc");
  if (envelope.size !== names.length || !names.every((name) => envelope.has(name))) {
    throw new Fault(`the envelope does not have exactly the fields of version ${version}`);
  }
  for (const [name, value] of envelope) {
    const form = ENVELOPE[name];
    const good = form === INTEGER ? isInteger(value) && value >= (name === "ref" ? -1 : 0) : typeof value === "string" && form.test(value);
    if (!good) throw new Fault(`the envelope's field ${quoted(name)} is malformed`);
  }
  return envelope;
}

/** The kind that a damaged envelope seems to have, for naming it. */
export function guessKind(data) {
  let text = "";
  for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
  return /"kind":"([a-z_.]{1,60})"/.exec(text)?.[1] ?? "";
}

/** The SHA-256, in hex, of a ciphertext. */
export async function digestOfCiphertext(data) {
  return hex(data.length < NATIVE ? sha256(data) : new Uint8Array(await subtle.digest("SHA-256", data)));
}

/**
 * The bytes of an entry's event, decrypted under a disclosed key (32 bytes of key, 32 bytes of commitment). The
 * commitment is checked first: AES-GCM alone could be opened to two different texts under two keys. Last the
 * commitment to the event's fields, from which single ones are shown.
 */
export async function openPayload(envelope, ciphertext, okm) {
  if (hex(okm.subarray(32)) !== envelope.get("kc")) {
    throw new Fault("the disclosed key is not the one that the entry commits to");
  }
  const plain = await decrypted(envelope, ciphertext, okm.subarray(0, 32));
  if (plain[0] !== 0 && plain[0] !== 2) throw new Fault("the payload is packed in an unknown way");
  const event = plain[0] === 0 ? plain.subarray(1) : await unpacked(plain.subarray(1));
  if (envelope.has("pc") && hex(fieldsRoot(okm, event)) !== envelope.get("pc")) {
    throw new Fault("the fields of the payload are not those that the entry commits to");
  }
  return event;
}

async function decrypted(envelope, ciphertext, key) {
  const sealed = encoded(writeCanonical(new Map([...envelope].filter(([name]) => name !== "ct" && name !== "kc"))));
  try {
    const imported = await subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
    const how = { name: "AES-GCM", iv: new Uint8Array(12), additionalData: sealed, tagLength: 128 };
    return new Uint8Array(await subtle.decrypt(how, imported, ciphertext));
  } catch {
    throw new Fault("the payload does not open: it or the envelope was altered");
  }
}

/** What zlib packed; it is given in slices, and read no further than an event may be long. */
async function unpacked(data) {
  const unpacker = new DecompressionStream("deflate");
  const writer = unpacker.writable.getWriter(), reader = unpacker.readable.getReader();
  const writing = feed(writer, data);
  writing.catch(() => {}); // the reader meets the same error
  const parts = [];
  let size = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      size += part.value.length;
      if (size > MAX_PAYLOAD) break;
      parts.push(part.value);
    }
  } catch {
    throw new Fault("the payload does not unpack");
  }
  if (size <= MAX_PAYLOAD) return whole(parts, size);
  reader.cancel().catch(() => {});
  throw new Fault(`the payload does not unpack into at most ${MAX_PAYLOAD} bytes`);
}

async function feed(writer, data) {
  for (let at = 0; at < data.length; at += SLICE) {
    await writer.ready;
    await writer.write(data.subarray(at, at + SLICE));
  }
  await writer.close();
}

function whole(parts, size) {
  const data = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    data.set(part, at);
    at += part.length;
  }
  return data;
}

/** The event as a Map; its own kind must be the envelope's. */
export function readEvent(plain, kind) {
  const event = strictJson(plain);
  const own = event instanceof Map ? event.get("kind") : undefined;
  if ((typeof own !== "string" && !(own instanceof Num)) || told(own) !== kind) {
    throw new Fault(`the payload is not an event of kind ${kind}`);
  }
  return event;
}

/** ["disclosed", okm], ["partly", leaves], or one of the other states alone; Fault on anything else. */
export function readDisclosure(line, seq) {
  if (!(line instanceof Map) || line.get("seq") !== seq) {
    throw new Fault("the line that discloses it is missing or of another entry");
  }
  const [okm, leaves, state] = ["okm", "leaves", "state"].map((name) => line.get(name));
  if (line.size === 2 && typeof okm === "string" && /^[0-9a-f]{128}$/.test(okm)) return ["disclosed", unhex(okm)];
  if (line.size === 2 && Array.isArray(leaves)) return ["partly", leaves];
  if (line.size === 2 && CLOSED.includes(state)) return [state];
  if (state === "unreadable") throw new Fault("its key could not be had at the export: the entry or the key's row was altered");
  throw new Fault("the line that discloses it is malformed");
}
