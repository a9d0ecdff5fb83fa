// A second implementation of audit/verify.py, which is the specification: the verdict on an exported file.
import { Archive, Source } from "./archive.js";
import { Fault, Unreadable } from "./faults.js";
import { UNPROVED_FILES, UNPROVED_LISTS } from "./format.js";
import { readHashes } from "./globallog.js";
import { ManyVerifier } from "./many.js";
import { readVkey } from "./notes.js";
import { Policy, readPolicy } from "./policy.js";
import { readReceipt } from "./receipt.js";
import { Verdict } from "./verdict.js";
import { Verifier } from "./verifier.js";

/**
 * The verdict on a bundle, or on an export of many; nothing is thrown at what a file holds.
 *
 * file: a File or Blob. trusted: a vkey (text) or a policy (bytes). demand: what the auditor asks for beyond a sound
 * bundle: {session, held, heldProof, receipt (bytes), minSize, maxAge (seconds)}. now: milliseconds since 1970.
 * listen: {progress(bytes read, bytes in all, entries), entry(seq, envelope, event, state), session(id, entries)}.
 */
export async function verify(file, trusted, { source = "given", demand = {}, now = Date.now(), listen = {} } = {}) {
  const verdict = new Verdict();
  try {
    const wanted = readDemand(demand, verdict);
    if (!wanted) return verdict;
    const policy = typeof trusted === "string" ? new Policy([readVkey(trusted)], "none") : readPolicy(trusted);
    if (!policy.logs.length) throw new Fault("the policy names no log");
    verdict.key = { vkey: policy.logs[0].vkey, source };
    verdict.unproved = [...UNPROVED_FILES];
    const tell = (bytes, count = 0) => listen.progress?.(bytes, file.size, count);
    const archive = new Archive(new Source(file), verdict, tell);
    await archive.scan();
    const many = archive.members.has("sessions.jsonl"), Reader = many ? ManyVerifier : Verifier;
    if (many) verdict.unproved.push(...UNPROVED_LISTS);
    await new Reader(archive, policy, verdict, now, listen).run(wanted);
  } catch (error) {
    if (error instanceof Fault) verdict.fail("bundle", error.message);
    else if (error instanceof Unreadable) verdict.fail("bundle", `cannot be read: ${error.message}`);
    else verdict.fail("bundle", `cannot be checked: ${error?.name}`); // whatever a hostile file provokes is a verdict
  }
  return verdict;
}

/** The demand with what it gives as bytes read; null, and a failure, where that is not what it has to be. */
function readDemand(demand, verdict) {
  try {
    const heldProof = demand.heldProof && readHashes(demand.heldProof);
    return { ...demand, heldProof, receipt: demand.receipt && readReceipt(demand.receipt) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    verdict.fail("key", error.message);
    return null;
  }
}
