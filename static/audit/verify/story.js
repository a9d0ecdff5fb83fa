// What the entries say together: results answer intents, and gated intents rest on decisions.
//
// Kinds and references stand in the envelopes and are always checked, the rest where events are disclosed. What is
// sealed or hidden, or damaged and therefore reported by itself, is not held against the others.
import { Fault, Hidden, Lacks } from "./faults.js";
import { PRUNED_BY, RECORDED_BY, SEALED_BY } from "./format.js";
import { digestOf, Num, Shown } from "./json.js";
import { told } from "./spelling.js";

const ANSWERS = new Map([
  ["tool.returned", "tool.intended"],
  ["tool.failed", "tool.intended"],
  ["tool.intended", "approval.requested"],
  ["decision.made", "approval.requested"],
  ["request.ended", "approval.requested"],
]); // kind -> the kind of the entry that its `ref` must point to; an intent that needed nobody points nowhere

export class Story {
  constructor(verdict) {
    this.verdict = verdict;
    this.kinds = []; // by seq; empty where the envelope cannot be read
    this.sealed = new Set(); // kinds of which an event cannot be read
    this.intents = new Map(); // seq -> [call, attempt]
    this.returned = new Map(); // an intent's seq, and a call's id -> seq of the result
    this.requests = new Map();
    this.decidedOn = new Set(); // seqs of the requests on which there is a decision
    this.recorded = [-2, 0]; // seq of the newest recorded state, and for how many entries it stands
    this.alone = -1; // seq of a pruning just before, in front of which no state was recorded
  }

  /** Take in entry `seq`; envelope and event are Maps, null where they cannot be read. */
  add(seq, envelope, event) {
    const kind = envelope?.get("kind") ?? "";
    this.follows(kind);
    this.kinds.push(kind);
    if (event === null) this.sealed.add(kind);
    if (envelope === null) return;
    try {
      this.refers(seq, kind, envelope.get("ref"));
      if (event !== null) this.tells(seq, kind, event, envelope);
    } catch (error) {
      if (error instanceof Hidden) this.sealed.add(kind);
      else if (error instanceof Fault) this.verdict.fail("story", error.message, seq, kind);
      else if (error instanceof Lacks) this.verdict.fail("story", "the event lacks a field that its kind has", seq, kind);
      else throw error;
    }
  }

  /** What a pruning stands between: a recorded state before it, or the seal behind it. */
  follows(kind) {
    if (this.alone >= 0 && ![SEALED_BY, ""].includes(kind)) this.unrecorded();
    const before = this.kinds.length ? this.kinds.at(-1) : "nothing";
    this.alone = kind === PRUNED_BY && ![RECORDED_BY, ""].includes(before) ? this.kinds.length : -1;
  }

  /** After the last entry. */
  end() {
    if (this.alone >= 0) this.unrecorded();
  }

  unrecorded() {
    const message = "the session went on, and no state was recorded before it that stands for what was pruned";
    this.verdict.fail("story", message, this.alone, PRUNED_BY);
  }

  records(seq, upto) {
    if (!["number", "bigint"].includes(typeof upto) || !(upto > 0 && upto <= seq)) {
      throw new Fault(`it does not stand for entries before it: ${seq} do`);
    }
    this.recorded = [seq, upto];
  }

  /** The state that was recorded just before a pruning stands for all that it names. */
  standsFor(seq, event) {
    const [recorded, upto] = this.recorded;
    const last = field(event, "ranges").map((each) => each.get("last")).reduce((one, other) => (other > one ? other : one));
    if (recorded === seq - 1 && last >= upto) {
      throw new Fault(`it names entry ${last}, and the state recorded before it stands for the first ${upto}`);
    }
  }

  /** What the envelopes alone show: each answers an entry of the right kind, and a call returns once. */
  refers(seq, kind, ref) {
    const answered = ANSWERS.get(kind);
    if (!answered || (kind === "tool.intended" && ref < 0)) return;
    if (!(ref >= 0 && ref < seq) || ![answered, ""].includes(this.kinds[ref])) {
      throw new Fault(`it answers entry ${ref}, which is no ${answered} before it`);
    }
    if (kind === "tool.returned") this.returns(ref, seq);
    if (kind === "decision.made") this.decidedOn.add(ref);
    if (kind === "tool.intended" && !this.decidedOn.has(ref) && !this.sealed.has("")) {
      throw new Fault(`it rests on the request of entry ${ref}, which nobody has decided before`);
    }
  }

  returns(what, seq) {
    if (this.returned.has(what)) throw new Fault(`the call already has its result: entry ${this.returned.get(what)}`);
    this.returned.set(what, seq);
  }

  tells(seq, kind, event, envelope) {
    switch (kind) {
      case "approval.requested":
        return this.requested(seq, event);
      case "decision.made":
        return this.decided(event, envelope);
      case "request.ended":
        return this.ended(event, envelope);
      case "tool.intended":
        return this.intends(seq, event, envelope);
      case "tool.returned":
      case "tool.failed":
        return this.results(seq, kind, event, envelope);
      case RECORDED_BY:
        return this.records(seq, field(event, "upto"));
      case PRUNED_BY:
        return this.standsFor(seq, event);
    }
  }

  requested(seq, event) {
    const name = keyOf(field(event, "request"));
    if (this.requests.has(name)) throw new Fault(`request ${told(field(event, "request"))} was made before`);
    const call = told(field(event, "call")), quorum = integer(field(event, "quorum"));
    this.requests.set(name, { seq, call, quorum, arguments: digestOfArguments(event), outcome: "", approvals: [] });
  }

  /** The request that an event names; null if it cannot be read. */
  request(event, envelope) {
    const named = field(event, "request"), request = this.requests.get(keyOf(named));
    if (!request) {
      this.mustBeSealed("approval.requested", `request ${told(named)} was never made`);
      return null;
    }
    if (request.seq !== envelope.get("ref")) {
      throw new Fault(`it answers entry ${envelope.get("ref")}, but names the request of entry ${request.seq}`);
    }
    return request;
  }

  decided(event, envelope) {
    const by = field(event, "by"), actor = envelope.get("actor");
    if (!same(by, actor)) throw new Fault(`the decision is ${told(by)}'s, but was recorded by ${actor}`);
    const request = this.request(event, envelope);
    if (!request) return;
    if (request.outcome) throw new Fault(`request ${told(field(event, "request"))} had ended before as ${request.outcome}`);
    const decision = field(event, "decision");
    if (decision === "edit") request.arguments = digestOfArguments(event);
    if (decision === "approve" || decision === "edit") {
      request.approvals.push([actor, ifShown(event, "digest"), request.arguments]);
    }
  }

  ended(event, envelope) {
    const request = this.request(event, envelope);
    if (request) request.outcome = told(field(event, "outcome"));
  }

  intends(seq, event, envelope) {
    this.intents.set(seq, [field(event, "call"), field(event, "attempt")]);
    const digest = digestOfArguments(event);
    if (digest && ![digest, ""].includes(ifShown(event, "arguments_digest"))) {
      throw new Fault("its digest is not that of its arguments");
    }
    const named = truthy(field(event, "request"));
    if (!named && envelope.get("ref") >= 0) throw new Fault(`it names no request, but rests on entry ${envelope.get("ref")}`);
    const request = named ? this.request(event, envelope) : null;
    if (request) this.rests(request, event, digest);
  }

  /** The call was approved before, by as many people as were asked for, with exactly these arguments. */
  rests(request, event, digest) {
    const name = `it rests on request ${told(field(event, "request"))}`;
    if (!same(request.call, field(event, "call"))) throw new Fault(`${name}, which was made for call ${request.call}`);
    if (request.outcome && !["approved", "edited"].includes(request.outcome)) {
      throw new Fault(`${name}, which had ended as ${request.outcome}`);
    }
    if (!request.outcome) this.mustBeSealed("request.ended", `${name}, which had not ended`);
    const permit = ifShown(event, "digest");
    const agreeing = request.approvals.filter(([, given, over]) => agree(given, permit) && agree(over, digest));
    const approvers = new Set(agreeing.map(([by]) => by));
    if (approvers.size < (request.quorum > 1 ? request.quorum : 1)) {
      const want = `got ${approvers.size} approvals of exactly this call before it, want ${request.quorum}`;
      this.mustBeSealed("decision.made", `${name}: ${want}`);
    }
  }

  results(seq, kind, event, envelope) {
    const intent = this.intents.get(envelope.get("ref"));
    if (intent && !same([field(event, "call"), field(event, "attempt")], intent)) {
      throw new Fault(`it answers entry ${envelope.get("ref")}, which intends another call or attempt`);
    }
    if (kind === "tool.returned") this.returns(told(field(event, "call")), seq);
  }

  /** What is missing may stand in an entry that cannot be read; else it is a fault. */
  mustBeSealed(kind, otherwise) {
    if (!this.sealed.has(kind) && !this.sealed.has("")) throw new Fault(otherwise);
  }
}

/** A member of an event, which must be there. */
function field(event, name) {
  if (event.has(name)) return event.get(name);
  throw event instanceof Shown ? new Hidden() : new Lacks();
}

/** The digest of an event's arguments; empty where a part of them is hidden. */
function digestOfArguments(event) {
  return unlessHidden(() => digestOf(field(event, "arguments")));
}

/** A digest in an event; empty where it is hidden. */
function ifShown(event, name) {
  return unlessHidden(() => told(field(event, name)));
}

function unlessHidden(read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof Hidden) return "";
    throw error;
  }
}

/** Whether two digests are the same, as far as both are shown. */
const agree = (one, other) => one === other || !one || !other;

// Values of any type may stand where a text belongs. They are compared as audit/verify.py does: a number's text equals
// that text, true is 1, order of members does not count, and what is no plain value cannot name anything.

const plain = (value) => (typeof value === "boolean" ? Number(value) : value instanceof Num ? String(value) : value);

export function same(one, other) {
  const [left, right] = [plain(one), plain(other)];
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, at) => same(item, right[at]));
  }
  if (left instanceof Map && right instanceof Map) {
    return left.size === right.size && [...left].every(([name, item]) => right.has(name) && same(item, right.get(name)));
  }
  return left === right;
}

function keyOf(value) {
  if (value !== null && typeof value === "object" && !(value instanceof Num)) throw new Lacks();
  return plain(value);
}

function truthy(value) {
  if (Array.isArray(value)) return value.length > 0;
  return value instanceof Map ? value.size > 0 : Boolean(value);
}

/** A whole number, or a text that is one. */
function integer(value) {
  const given = plain(value);
  if (typeof given === "number" || typeof given === "bigint") return given;
  if (typeof given !== "string" || !/^\s*[-+]?[0-9]+(?:_[0-9]+)*\s*$/.test(given)) throw new Lacks();
  const digits = BigInt(given.trim().replace(/^[-+]/, "").replaceAll("_", ""));
  return given.trim().startsWith("-") ? -digits : digits;
}
