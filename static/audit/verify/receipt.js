// What somebody was told when they gave a command.
import { unhex } from "./bytes.js";
import { isInteger } from "./entry.js";
import { Fault } from "./faults.js";
import { isDigest } from "./fields.js";
import { strictJson } from "./json.js";
import { UUID } from "./notes.js";

/** {session, size (BigInt), root, leaf} of a receipt: JSON with these members, and whatever else the answer held. */
export function readReceipt(data) {
  const said = strictJson(data);
  const [session, size, root, leaf] = ["session", "size", "root", "leaf"].map((name) => said instanceof Map && said.get(name));
  if (!isDigest(root) || !isDigest(leaf) || !isInteger(size) || size < 1 || !UUID.test(session)) {
    throw new Fault("the receipt does not name session, size, root and leaf");
  }
  return { session, size: BigInt(size), root: unhex(root), leaf: unhex(leaf) };
}
