// A row of several inputs as one string, and its words (see data/inputs.py).

export const SEPARATOR = "\ufdd0", BEGIN = "\ufdd1", CLOSE = "\ufdd2";
export const RESERVED = /[\ufdd0-\ufdd2]/gu;
const MARK = /\ufdd1([^\ufdd1\ufdd2]*)\ufdd2/gu;
const SPACES = /[\p{White_Space}\x1c-\x1f]+/gu;
const THOUSANDS = /^[-+]?[1-9]\d{0,2}(?:([.,])\d{3}(?:\1\d{3})+|,\d{3})$/u;
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/iu;
const MISSING = "missing", OTHER = "other";

const marked = (name, value) => `${BEGIN}${name}=${value}${CLOSE}`;
// As `value_key` of Python: ẞ is ss as ß is, and ı is no i.
const folded = (text) => Array.from(text, (letter) => (letter === "ı" ? letter : lower(lower(letter).toUpperCase()))).join("").normalize();
const lower = (text) => Array.from(text, (letter) => letter.toLowerCase()).join("");

/** A cell without what does not distinguish values; empty if it is missing. */
const plain = (given) => String(given ?? "").replace(RESERVED, "").replace(SPACES, " ").replace(/^ | $/gu, "").replace(/^(-?\p{Nd}+)\.0+$/u, "$1");

/** A digit of any script as one from 0 to 9: those of a script stand in a row. */
function ascii(digit) {
  let before = digit.codePointAt(0);
  while (/^\p{Nd}$/u.test(String.fromCodePoint(before - 1))) before -= 1;
  return String((digit.codePointAt(0) - before) % 10);
}

function asNumber(given) {
  let digits = plain(given).replace(/[ '’]|%$/gu, "").replace(/\p{Nd}/gu, ascii);
  if (THOUSANDS.test(digits)) digits = digits.replace(/[.,]/gu, "");
  else if (digits.includes(",") && digits.includes(".")) {
    digits = digits.replaceAll(digits.lastIndexOf(",") < digits.lastIndexOf(".") ? "," : ".", ""); // the last is the decimal point
  }
  digits = digits.replaceAll(",", ".");
  return NUMBER.test(digits) && Number.isFinite(Number(digits)) ? Number(digits) : null;
}

/** What a cell is read as. `values` of a column are those that are neither missing nor other. */
function valueOf({ kind, values, edges }, given) {
  if (kind === "number") {
    const number = asNumber(given);
    return number === null ? MISSING : values[edges.filter((edge) => edge <= number).length];
  }
  const key = folded(plain(given));
  return key ? [...values, MISSING].find((value) => folded(value) === key) ?? OTHER : MISSING;
}

/** A row as one string; empty if all of its texts are blank. */
export function composed(row, { texts, columns }) {
  const given = texts.map((name) => (row[name] ?? "").replace(RESERVED, ""));
  if (given.every((text) => !text.replace(SPACES, ""))) return "";
  return columns.map((column) => marked(column.name, valueOf(column, row[column.name]))).join("") + given.join(SEPARATOR);
}

/** The marks of columns and the texts of a row, in their order, with their places. */
export function fieldsOf(text) {
  const found = Array.from(text.matchAll(MARK), ({ 0: mark, index }) => ({ start: index, end: index + mark.length, mark: true }));
  let start = found.at(-1)?.end ?? 0;
  for (const part of text.slice(start).split(SEPARATOR)) {
    found.push({ start, end: start + part.length, mark: false });
    start += part.length + 1;
  }
  return found;
}

/** A row as people see it: its columns on the first line, then each text with its name. `parts` says where each stands. */
export function laidOut(text, { texts, columns }) {
  const names = [...columns.map(({ name }) => name), ...texts];
  let shown = "";
  const parts = fieldsOf(text).map(({ start, end, mark }, number) => {
    if (number) shown += mark ? ", " : "\n";
    if (!mark) shown += `${names[number]}: `;
    const part = { input: names[number], mark, start, end, at: shown.length, without: mark ? marked(names[number], MISSING) : "" };
    shown += mark ? text.slice(start + 1, end - 1) : text.slice(start, end);
    return part;
  });
  return { shown, parts };
}
