// Ed25519 by the browser itself. Where it has none, nothing is verified: `available` says so beforehand.

const subtle = globalThis.crypto?.subtle;

/** Why this browser cannot verify, in words; empty if it can. */
export async function unavailable() {
  if (!subtle) return "This page was not loaded over HTTPS (or from this computer), so the browser keeps its cryptography from it.";
  try {
    // RFC 8032, test 1: a browser that knows the name alone is no help.
    const key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    const signature =
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
    const bytes = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
    if (await verifies(bytes(key), bytes(signature), new Uint8Array())) return "";
  } catch {
    // told below
  }
  return "This browser does not know Ed25519 signatures (Chromium 137, Firefox 129 and Safari 17 do).";
}

/** Whether `signature` is by the key (32 bytes) over `data`. */
export async function verifies(key, signature, data) {
  const imported = await subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
  return subtle.verify({ name: "Ed25519" }, imported, signature, data);
}
