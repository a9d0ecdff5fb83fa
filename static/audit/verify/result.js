// What was found, for a person.

const PAGE = 100; // rows of a table at a time
const element = (id) => document.getElementById(id);
const ROLES = { tr: "row", th: "rowheader", td: "cell" };
const WORDS = { withheld: "Content withheld", erased: "Content erased", pruned: "Content deleted when its term was over", indivisible: "Content sealed: no part of an entry this old can be shown alone" };

export class Result {
  /** Forget what was shown. */
  clear() {
    element("result").hidden = true;
  }

  cancelled() {
    this.seal("open", "pause", "Cancelled.", "Nothing was found out about the bundle.");
  }

  /** This browser cannot verify. */
  unable(why) {
    this.seal("open", "warn", "This browser cannot verify the bundle.", `${why} Use another one, or verify.py.`);
  }

  proof() {
    this.seal("open", "help", "This is a proof, not an export.", "This page reads exports; verify.py reads proofs as well.");
  }

  /** The worker died: too little memory, for one. That is no verdict. */
  broke(why) {
    this.seal("bad", "warn", "The check broke off without a verdict: do not rely on this bundle.", why);
  }

  show({ verdict: json, rows, sessions, more }) {
    const verdict = JSON.parse(json);
    const beside = verdict.key?.source.endsWith("beside the bundle") ?? false;
    const failures = verdict.counts.failures;
    if (!verdict.ok) this.seal("bad", "warn", `Do not rely on this bundle: ${count(failures, "check")} failed.`, "What failed stands below, with the entry that it concerns.", verdict);
    else if (beside) this.seal("open", "help", "Every check holds, if the key is genuine.", "The key came with the bundle.", verdict);
    else this.seal("", "check", "Every check holds.", trustInWords(verdict), verdict);
    element("beside").hidden = !beside;
    this.download(json);
    table("failures", verdict.failures, failureRow);
    element("h-failures").textContent = failures > verdict.failures.length ? `Failures, the first ${verdict.failures.length} of ${failures}` : "Failures";
    table("sessions", sessions, sessionRow);
    table("entries", rows, entryRow);
    element("h-entries").textContent = more ? `Entries, the first ${rows.length} of ${rows.length + more}` : "Entries";
  }

  seal(look, icon, sentence, reason, verdict = null) {
    element("seal").className = `seal ${look}`;
    const use = element("seal-icon");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${icon}`));
    element("verdict").textContent = sentence;
    element("reason").textContent = reason;
    element("beside").hidden = true;
    for (const id of ["failures", "sessions", "entries"]) element(id).hidden = true;
    element("facts").hidden = element("download").hidden = !verdict;
    if (verdict) element("facts").replaceChildren(...facts(verdict));
    element("result").hidden = false;
    element("verdict").focus();
  }

  download(json) {
    const link = element("download");
    if (link.href) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([json, "\n"], { type: "application/json" }));
  }
}

function trustInWords({ log }) {
  return log.witnesses.length
    ? `The log's head is cosigned by ${log.witnesses.join(", ")}.`
    : "No witness that you trust cosigned: another auditor may have been shown another history.";
}

const count = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

/** The rows of the list of facts. */
function facts({ key, log, head, timestamp, counts, sessions, unproved }) {
  const rows = [];
  if (unproved.length) rows.push(["Not proved", `${unproved.join(", ")}: signed, but whoever holds the log key can sign others. Read the entries below.`]);
  if (key) rows.push(["Key", key.vkey, true], ["", key.source]);
  if (log) {
    rows.push(["Log", `${log.name}, ${count(log.size, "entry").replace("entrys", "entries")}`], ["Its root", log.root, true]);
    rows.push(["Witnesses", log.witnesses.length ? `${log.witnesses.join(", ")}, last at ${log.cosigned_at}` : "none that you trust"]);
    if ("continues" in log) rows.push(["Continues", `the head of ${log.continues} entries that you hold`]);
    if (log.key !== key?.vkey) rows.push(["Key now", log.key, true]);
  }
  if (timestamp) rows.push(["Time stamp", `${timestamp.at}, signature ${timestamp.signature}`], ["Believed until", untilInWords(timestamp)]);
  if (head) {
    rows.push(["Session", head.log, true], ["Head", `${head.size} entries`], ["Its root", head.root, true]);
    if ("leaf" in head) rows.push(["Freshness", `leaf ${head.leaf} of the log, the newest of this session as of leaf ${head.latest_as_of}`]);
  }
  if (sessions !== undefined) rows.push(["Sessions", sessions.toLocaleString("en")]);
  const { entries, disclosed, partly, withheld, erased, pruned } = counts;
  rows.push(["Entries", `${entries}: ${disclosed} disclosed, ${partly} partly disclosed, ${withheld} withheld, ${erased} erased, ${pruned} pruned`]);
  if (counts.indivisible) rows.push(["Indivisible", `${counts.indivisible}: of an entry of version 1 no part can be shown alone`]);
  return rows.flatMap(([name, value, mono]) => [made("dt", name), made("dd", value, mono ? "mono" : "")]);
}

/** Until when a time stamp can be believed, and what to do. */
function untilInWords({ until, ended, sha256 }) {
  if (!until) return "not known here: it holds no certificate";
  const newer = `the newer stamp over it, /log/restamps/${sha256}, which verify.py takes with --restamps`;
  if (ended === "yes") return `its authority's certificate ended ${until}: ask the operator for ${newer}`;
  return `${until}, when its authority's certificate ends; before that, fetch ${newer}`;
}

function failureRow({ entry, kind, check, message }) {
  const row = made("tr");
  const place = made("th", entry === null ? "Bundle" : String(entry));
  place.scope = "row";
  row.append(place, made("td", kind, "mono"), made("td", check), made("td", message));
  return row;
}

function sessionRow([id, entries]) {
  const row = made("tr"), place = made("th", id, "mono");
  place.scope = "row";
  row.append(place, made("td", entries.toLocaleString("en"), "num"));
  return row;
}

function entryRow({ seq, at, actor, kind, state, event }) {
  const row = made("tr"), place = made("th", String(seq), "mono"), what = made("td");
  place.scope = "row";
  what.append(made("b", inWords(kind), "b"));
  const note = state === "partly" ? "Partly disclosed" : WORDS[state];
  if (note) what.append(" ", made("span", note, "soft"));
  if (event) {
    const details = made("details"), raw = made("pre", event, "raw mono");
    raw.tabIndex = 0;
    details.append(made("summary", "What was recorded", "small soft"), raw);
    what.append(details);
  }
  row.append(place, made("td", `${at.slice(0, 10)} ${at.slice(11, 23)}`, "mono faint nowrap"), made("td", actor, "who-did"), what);
  return row;
}

/** "tool.intended" as "Tool intended". */
function inWords(kind) {
  const words = kind.replaceAll(/[._]/g, " ");
  return words[0].toUpperCase() + words.slice(1);
}

/** Fill a section's table, a page at a time. */
function table(id, rows, asRow) {
  const section = element(id), body = section.querySelector("tbody"), pager = section.querySelector(".pager");
  section.hidden = !rows.length;
  const turn = (first) => {
    body.replaceChildren(...rows.slice(first, first + PAGE).map(asRow));
    pager.replaceChildren(made("span", `${first + 1} to ${Math.min(first + PAGE, rows.length)} of ${rows.length}`, "soft"));
    pager.hidden = rows.length <= PAGE;
    pager.append(turner("Earlier", first - PAGE, first > 0), turner("Later", first + PAGE, first + PAGE < rows.length));
  };
  const turner = (name, to, there) => {
    const button = made("button", name, "btn");
    button.type = "button";
    button.disabled = !there;
    button.addEventListener("click", () => {
      turn(to);
      section.querySelector(".scroll").focus();
    });
    return button;
  };
  turn(0);
}

function made(name, text = "", look = "") {
  const node = document.createElement(name);
  if (name in ROLES) node.setAttribute("role", ROLES[name]); // which they keep where a narrow screen lays them out otherwise
  node.textContent = text;
  if (look) node.className = look;
  return node;
}
