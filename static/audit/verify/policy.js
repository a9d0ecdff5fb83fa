// Whom the auditor trusts (C2SP tlog-policy): keys of logs, witnesses, and which of them must have cosigned.
import { latin1 } from "./bytes.js";
import { Fault } from "./faults.js";
import { MAX_POLICY } from "./format.js";
import { readVkey, WITNESS } from "./notes.js";
import { cut, quoted } from "./spelling.js";

export class Policy {
  constructor(logs = [], quorum = "") {
    this.logs = logs;
    this.witnesses = new Map(); // name in the policy -> key
    this.groups = new Map(); // name -> [how many, of which]
    this.quorum = quorum;
  }

  /** Whether those witnesses (a set of names) are enough. */
  met(cosigned, name = this.quorum) {
    if (name === "none") return true;
    if (!this.groups.has(name)) return cosigned.has(name);
    const [want, members] = this.groups.get(name);
    return members.filter((member) => this.met(cosigned, member)).length >= want;
  }

  knows(name) {
    return this.witnesses.has(name) || this.groups.has(name);
  }
}

/** Parse a policy; Fault on anything that the specification does not allow. */
export function readPolicy(data) {
  if (data.length > MAX_POLICY || data.some((byte) => (byte < 0x20 && byte !== 9 && byte !== 10) || byte === 0x7f)) {
    throw new Fault("the policy is too long or holds a control character");
  }
  const policy = new Policy(), used = new Set();
  // Latin-1 maps each octet to one character: names are octets, as the specification wants them.
  for (const line of latin1(data).split("\n")) {
    const words = line.split(/[ \t]+/).filter(Boolean);
    if (words.length && !words[0].startsWith("#")) readRule(policy, words, used);
  }
  if (!policy.quorum) throw new Fault("the policy names no quorum");
  return policy;
}

function readRule(policy, words, used) {
  const [what, ...rest] = words, count = rest.length;
  if (what === "log" && (count === 1 || count === 2)) add(policy.logs, readVkey(rest[0]));
  else if (what === "witness" && (count === 2 || count === 3)) readWitness(policy, rest);
  else if (what === "group" && count > 2) readGroup(policy, rest, used);
  else if (what === "quorum" && count === 1 && !policy.quorum) readQuorum(policy, rest[0]);
  else throw new Fault(`the policy has a line that cannot be read: ${quoted(cut(words.join(" "), 80))}`);
}

function readWitness(policy, [name, vkey]) {
  checkNew(policy, name);
  const key = readVkey(vkey, WITNESS);
  add([...policy.witnesses.values()], key);
  policy.witnesses.set(name, key);
}

function readGroup(policy, [name, number, ...members], used) {
  checkNew(policy, name);
  policy.groups.set(name, [howMany(number, members.length), members]);
  for (const member of members) {
    if (used.has(member) || !policy.knows(member) || member === name) {
      throw new Fault(`the policy's group ${quoted(name)} names ${quoted(member)}, which is unknown or used before`);
    }
    used.add(member);
  }
}

function readQuorum(policy, name) {
  if (name !== "none" && !policy.knows(name)) throw new Fault(`the policy's quorum ${quoted(name)} is unknown`);
  policy.quorum = name;
}

function add(keys, key) {
  if (keys.some((other) => key.public === other.public)) throw new Fault("the policy names one key twice");
  keys.push(key);
}

function checkNew(policy, name) {
  if (name === "none" || policy.knows(name)) throw new Fault(`the policy uses the name ${quoted(name)} twice`);
}

function howMany(number, members) {
  if (number === "any" || number === "all") return number === "any" ? 1 : members;
  if (!/^[1-9][0-9]{0,4}$/.test(number) || Number(number) > members) {
    throw new Fault(`the policy asks for ${quoted(cut(number, 20))} of ${members}`);
  }
  return Number(number);
}
