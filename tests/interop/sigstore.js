// Asks @sigstore/verify whether our signed heads and inclusion proofs are what it takes them to be.
// Reads {vkey name, id, public key, note, leaf, index, path} as JSON on stdin; prints {"ok": bool, "why": text}.
const crypto = require("crypto");
const fs = require("fs");
const path = require("path");

const folder = path.join(process.env.MODULES, "@sigstore/verify/dist/tlog");
const { verifyCheckpoint } = require(path.join(folder, "checkpoint.js"));
const { verifyMerkleInclusion } = require(path.join(folder, "merkle.js"));

const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const bytes = (text) => Buffer.from(text, "base64");
const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), bytes(asked.public)]);
const publicKey = crypto.createPublicKey({ key: der, format: "der", type: "spki" });
const log = { logID: bytes(asked.id), baseURL: asked.name, publicKey };
const inclusionProof = {
  logIndex: asked.index,
  hashes: asked.path.map(bytes),
  checkpoint: { envelope: bytes(asked.note).toString("utf8") },
};
try {
  const head = verifyCheckpoint({ inclusionProof }, [log]);
  verifyMerkleInclusion({ inclusionProof, canonicalizedBody: bytes(asked.leaf) }, head);
  console.log(JSON.stringify({ ok: true, why: "" }));
} catch (error) {
  console.log(JSON.stringify({ ok: false, why: String(error.message) }));
}
