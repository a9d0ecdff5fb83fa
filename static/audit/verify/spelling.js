// How the verdict spells values, so that it is the same text as that of audit/verify.py: its messages quote what was
// found as Python does, and its JSON is that of `--json`.
import { Num } from "./json.js";

const UNPRINTABLE = /[\p{C}\p{Z}]/u;
const SHORT = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A value in quotes and escapes. */
export function quoted(value) {
  if (value === null || typeof value === "boolean") return named(value);
  if (typeof value === "string" || value instanceof Num) return quotedText(String(value));
  if (Array.isArray(value)) return `[${value.map(quoted).join(", ")}]`;
  if (value instanceof Map) return `{${[...value].map(([key, each]) => `${quoted(key)}: ${quoted(each)}`).join(", ")}}`;
  return String(value);
}

/** A value as text: a text is itself. */
export function told(value) {
  return typeof value === "string" || value instanceof Num ? String(value) : quoted(value);
}

/** The first characters of a text; a character is a code point. */
export const cut = (text, size) => Array.from(text.slice(0, 2 * size)).slice(0, size).join("");

function named(value) {
  return value === null ? "None" : value ? "True" : "False";
}

function quotedText(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  let result = mark;
  for (const char of text) result += char === mark ? `\\${char}` : SHORT[char] ?? (char === " " || !UNPRINTABLE.test(char) ? char : escaped(char));
  return result + mark;
}

function escaped(char) {
  const code = char.codePointAt(0);
  const [letter, size] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${letter}${code.toString(16).padStart(size, "0")}`;
}

/** JSON with an indent of one and nothing but ASCII, as `json.dumps(value, indent=1)` writes plain objects. */
export function indented(value, margin = "") {
  const inner = `${margin} `;
  const list = (open, items, close) => (items.length ? `${open}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${close}` : open + close);
  if (Array.isArray(value)) return list("[", value.map((each) => indented(each, inner)), "]");
  if (value !== null && typeof value === "object") {
    return list("{", Object.entries(value).map(([key, each]) => `${ascii(key)}: ${indented(each, inner)}`), "}");
  }
  return typeof value === "string" ? ascii(value) : String(value);
}

function ascii(text) {
  return JSON.stringify(text).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
