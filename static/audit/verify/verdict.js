// Everything that was found, as audit/verify.py says it.
import { MAX_FAILURES } from "./format.js";
import { indented } from "./spelling.js";

export class Verdict {
  constructor() {
    this.failures = [];
    this.counts = { entries: 0, disclosed: 0, partly: 0, withheld: 0, erased: 0, pruned: 0, failures: 0 };
    this.head = null;
    this.log = null; // the global log's head, who cosigned it, and how fresh it is
    this.timestamp = null;
    this.key = null;
    this.finished = false;
  }

  get ok() {
    return this.finished && !this.counts.failures;
  }

  fail(check, message, entry = null, kind = "") {
    this.counts.failures++;
    if (this.failures.length < MAX_FAILURES) this.failures.push({ entry, kind, check, message });
  }

  asJson() {
    const { ok, failures, counts, head, log, timestamp, key } = this;
    return indented({ ok, failures, counts, head, log, timestamp, key });
  }
}
