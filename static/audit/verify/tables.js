// The entries again, one a row, for programs and spreadsheets. Each row is compared with the entry that was proved, by
// value: in what order an object has its names, and how values are spaced and escaped, is free.
import { encoded, equal, hex, utf8 } from "./bytes.js";
import { Fault } from "./faults.js";
import * as format from "./format.js";
import { byCodePoint, Num, strictJson } from "./json.js";

const BLOCK = 2 ** 16; // bytes that are read at once
const CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|$)/y;
const LINE_END = 10;

/** One entry as the tables have it: a Map in the order of the columns. */
export function tableRow(envelope, state, event) {
  const ref = envelope.get("ref");
  const answers = ref >= 0 ? ref : null;
  const values = { answers, state, event };
  return new Map(format.COLUMNS.map((name) => [name, name in values ? values[name] : envelope.get(name)]));
}

/** JSON as Python writes it: `, ` and `: `, names in order. A number that is no integer is text; half a character is `?`. */
function written(value) {
  if (typeof value === "string") return JSON.stringify(wellFormed(value));
  if (value instanceof Num) return JSON.stringify(value.text);
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (value instanceof Map) {
    const names = [...value.keys()].sort(byCodePoint);
    return `{${names.map((name) => `${written(name)}: ${written(value.get(name))}`).join(", ")}}`;
  }
  return String(value);
}

const wellFormed = (text) => text.replace(/\p{Cs}/gu, "?");

function cell(value) {
  if (value === null) return "";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  const text = (typeof value === "string" ? value : written(value)).replaceAll("\0", "\ufffd");
  return format.FORMULA.some((start) => text.replace(/^[ \u00a0]*/, "").startsWith(start)) ? `'${text}` : text;
}

const csvLine = (cells) => cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(",");

/** Whether a table has the value that was proved. */
function sameValue(found, wanted) {
  if (wanted instanceof Map) {
    return found instanceof Map && found.size === wanted.size && [...wanted].every(([name, each]) => found.has(name) && sameValue(found.get(name), each));
  }
  if (Array.isArray(wanted)) {
    return Array.isArray(found) && found.length === wanted.length && wanted.every((each, at) => sameValue(found[at], each));
  }
  if (wanted instanceof Num) return found === wanted.text;
  return found === (typeof wanted === "string" ? wellFormed(wanted) : wanted);
}

/** entries.jsonl: an object a line. */
class Table {
  static NAME = "entries.jsonl";

  constructor(archive, count) {
    this.source = archive.window(this.constructor.NAME);
    this.at = 0;
    this.left = count;
  }

  begin() {}

  end() {
    if (this.at < this.source.size) throw new Fault("it holds more than the entries");
  }

  /** Past the row of an entry that was not proved. */
  skip() {
    this.left--;
    const end = this.lineEnd(this.source.size);
    this.at = end < 0 ? this.source.size : end + 1;
  }

  /** The columns whose values are not those of the row. Fault where that row is not what comes next. */
  differs(row) {
    this.left--;
    const wanted = encoded(this.line(row));
    const line = this.row(8 * wanted.length + 1000);
    if (equal(line, wanted)) return [];
    const found = this.values(line), values = this.wanted(row);
    const complete = found.size === format.COLUMNS.length && format.COLUMNS.every((name) => found.has(name));
    if (!complete || !sameValue(found.get("seq"), values.get("seq"))) throw new Fault("the row of this entry is not the next one");
    return format.COLUMNS.filter((name) => !sameValue(found.get(name), values.get(name)));
  }

  row(limit) {
    return this.next(limit);
  }

  /** Where the line ends that begins here; -1 if that is not within `limit` bytes. */
  lineEnd(limit) {
    const most = Math.min(this.at + limit, this.source.size);
    for (let from = this.at; from < most; from += BLOCK) {
      const found = this.source.slice(from, Math.min(BLOCK, most - from)).indexOf(LINE_END);
      if (found >= 0) return from + found;
    }
    return -1;
  }

  next(limit) {
    const start = this.at, end = this.lineEnd(limit);
    if (end < 0) throw new Fault(start === this.source.size ? "it ends before this row" : "a line has no end, or is far too long");
    this.at = end + 1;
    return this.source.slice(start, end - start).slice();
  }

  line(row) {
    return written(row);
  }

  wanted(row) {
    return row;
  }

  values(line) {
    const found = strictJson(line);
    if (!(found instanceof Map)) throw new Fault("a line is no row");
    return found;
  }
}

/** report.json: the rows with the head that they stand under, a row a line. */
class JsonTable extends Table {
  static NAME = "report.json";
  parted = true; // whether there is a comma behind each row but the last

  begin() {
    if (!equal(this.next(100), encoded('{"entries": ['))) throw new Fault("it does not begin with its entries");
  }

  end(facts, sound) {
    const last = this.next(format.MAX_NOTE);
    super.end();
    if (last[0] !== 0x5d || !this.parted) throw new Fault("it holds other rows than the entries");
    const text = utf8(last);
    const said = strictJson(text === null ? last : encoded(`{"entries": [${text}`));
    const complete = said instanceof Map && said.size === 3 && ["entries", "head", "warnings"].every((name) => said.has(name));
    if (!complete) throw new Fault("it does not end with its head");
    if (facts && !sameValue(said.get("head"), facts)) throw new Fault("its head is not the one that was proved");
    if (sound && !sameValue(said.get("warnings"), [])) throw new Fault("it warns of something that is not so");
  }

  row(limit) {
    const line = super.row(limit), comma = line.at(-1) === 0x2c;
    this.parted &&= comma === this.left > 0;
    return comma ? line.subarray(0, -1) : line;
  }
}

/** entries.csv: RFC 4180, with a byte order mark. */
class CsvTable extends Table {
  static NAME = "entries.csv";

  begin() {
    if (!equal(this.next(1000), encoded(`\ufeff${csvLine(format.COLUMNS)}\r`))) throw new Fault("its titles are not those of the columns");
  }

  line(row) {
    return wellFormed(`${csvLine([...row.values()].map(cell))}\r`);
  }

  wanted(row) {
    return new Map([...row].map(([name, value]) => [name, name === "event" ? value : cell(value)]));
  }

  values(line) {
    const text = utf8(line)?.replace(/\r$/, "");
    if (text === undefined) throw new Fault("a line is not UTF-8");
    const cells = [];
    let at = 0;
    while (at <= text.length && cells.length <= format.COLUMNS.length) {
      CELL.lastIndex = at;
      const found = CELL.exec(text);
      if (!found) break;
      cells.push(found[1] !== undefined ? found[1].replaceAll('""', '"') : found[2]);
      at = CELL.lastIndex + (found[3] ? 0 : 1);
    }
    if (at <= text.length || cells.length !== format.COLUMNS.length) throw new Fault("a line is no row");
    const event = cells.at(-1);
    return new Map(format.COLUMNS.map((name, place) => [name, name !== "event" ? cells[place] : event ? strictJson(encoded(event)) : null]));
  }
}

/** The three tables of a bundle, held against its entries one by one. */
export class Tables {
  constructor(archive, count, verdict) {
    this.verdict = verdict;
    this.tables = [CsvTable, Table, JsonTable].filter((kind) => archive.members.has(kind.NAME)).map((kind) => new kind(archive, count));
    this.each((table) => table.begin());
  }

  /** The row of the next entry; null of one that was not proved. */
  compare(row) {
    if (!row) return this.each((table) => table.skip());
    const seq = row.get("seq"), kind = row.get("kind");
    this.each((table) => {
      for (const name of table.differs(row)) {
        this.verdict.fail("table", `${table.constructor.NAME}: its ${name} is not that of the entry`, seq, kind);
      }
    }, seq, kind);
  }

  /** After the last entry. */
  end(head, key) {
    const facts = head && new Map([
      ["log", head.log], ["origin", `${key.name}/s/${head.log}`], ["size", Number(head.size)], ["root", hex(head.root)], ["key", key.vkey],
    ]);
    const sound = !this.verdict.counts.failures;
    this.each((table) => table.end(facts, sound));
  }

  /** A table that is not of its form is read no further. */
  each(check, seq = null, kind = "") {
    for (const table of [...this.tables]) {
      try {
        check(table);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        this.verdict.fail("table", `${table.constructor.NAME}: ${error.message}`, seq, kind);
        this.tables.splice(this.tables.indexOf(table), 1);
      }
    }
  }
}
