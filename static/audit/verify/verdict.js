// Everything that was found, as audit/verify.py says it.
import { MAX_FAILURES } from "./format.js";
import { indented } from "./spelling.js";

export class Verdict {
  constructor() {
    this.failures = [];
    this.counts = { entries: 0, disclosed: 0, partly: 0, withheld: 0, indivisible: 0, erased: 0, pruned: 0, failures: 0 };
    this.head = null;
    this.log = null; // the global log's head, who cosigned it, and how fresh it is
    this.timestamp = null;
    this.key = null;
    this.unproved = []; // files that are signed, and whose content is not proved
    this.sessions = null; // how many, in an export of many
    this.finished = false;
  }

  get ok() {
    return this.finished && !this.counts.failures;
  }

  fail(check, message, entry = null, kind = "") {
    this.counts.failures++;
    if (this.failures.length < MAX_FAILURES) this.failures.push({ entry, kind, check, message });
  }

  /** Add the findings of one part; its failures say that they are of `where`. */
  take(other, where) {
    for (const name of Object.keys(this.counts)) this.counts[name] += other.counts[name];
    for (const failure of other.failures.slice(0, MAX_FAILURES - this.failures.length)) {
      this.failures.push({ ...failure, message: `${where}: ${failure.message}` });
    }
    if (!other.finished && !other.counts.failures) this.fail("bundle", `${where}: was not read to its end`);
  }

  asJson() {
    const { ok, failures, counts, head, log, timestamp, key, unproved, sessions } = this;
    const many = sessions === null ? {} : { sessions };
    return indented({ ...many, ok, failures, counts, head, log, timestamp, key, unproved });
  }
}
