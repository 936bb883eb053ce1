// The fields of a row, for models that read several inputs: one for each text, and one for each column beside the texts.

import { el } from "./dom.js";
import { editedText } from "./field.js";

const LONGEST = 200_001; // units of UTF-16; a text of 100,000 characters has at most 200,000
const NOTE = "An empty field counts as missing, and a category that the model does not know as other.";

export class RowFields {
  /** Puts the fields into `place`. `inputs`: what the model reads. `choose`: whether values are chosen, not typed. */
  constructor(place, inputs, { choose = false } = {}) {
    this.inputs = inputs;
    const texts = inputs.texts.map((name, number) => [name, el("textarea", {
      id: number ? `text-${number + 1}` : "text", dir: "auto", rows: 2, maxLength: LONGEST, spellcheck: false, autocomplete: "off",
      placeholder: "Type or paste a text",
    })]);
    const columns = inputs.columns.map((column, number) => [
      column.name, choose ? chosenField(column, number) : typedField(column, number, listOf(inputs, number)),
    ]);
    this.fields = new Map([...texts, ...columns]);
    this.fields.forEach((field) => field.addEventListener("input", () => this.onInput()));
    const labelled = ([name, field]) => el("div", {}, el("label", { htmlFor: field.id, dir: "auto" }, name), field);
    place.replaceChildren(...texts.map(labelled));
    if (!columns.length) return;
    const lists = inputs.columns.map(({ values }, number) => el("datalist", { id: listOf(inputs, number) },
      ...values.map((value) => el("option", { value }))));
    place.append(el("div", { className: "values" }, ...columns.map(labelled)), choose ? "" : el("p", { className: "soft" }, NOTE),
      ...lists.filter(({ id }) => id));
  }

  /** The row; empty if all of its texts are. */
  get value() {
    const given = [...this.fields].map(([name, { value }]) => [name, value.replace(/[\uFDD0-\uFDD2]/gu, "")]); // as the server
    const row = Object.fromEntries(given);
    if (!this.inputs.texts.some((name) => row[name].trim())) return "";
    this.inputs.columns.forEach(({ name }) => { row[name] = row[name].trim() || null; });
    return row;
  }

  put(row) {
    this.fields.forEach((field, name) => {
      field.value = row[name] ?? "";
      if (field.value === "" && field.tagName === "SELECT" && row[name]) field.value = "other";
    });
  }

  focus() {
    this.fields.get(this.inputs.texts[0]).focus();
  }

  edited(row, edits) {
    const all = [...edits], found = { ...row };
    this.inputs.texts.forEach((name) => { found[name] = editedText(row[name], all.filter(({ input }) => input === name)); });
    this.inputs.columns.forEach(({ name }) => all.filter(({ input }) => input === name).forEach(({ put }) => { found[name] = put || null; }));
    return found;
  }
}

const typedField = ({ kind }, number, list) => el("input", {
  id: `value-${number + 1}`, type: "text", dir: "auto", autocomplete: "off", spellcheck: false, placeholder: "missing",
  inputMode: kind === "number" ? "decimal" : "text", list,
});

function chosenField({ kind, values }, number) {
  const id = `value-${number + 1}`;
  if (kind === "number") return el("input", { id, type: "number", step: "any", autocomplete: "off", placeholder: "missing" });
  return el("select", { id, dir: "auto" },
    el("option", { value: "" }, "missing"), ...[...values, "other"].map((value) => el("option", { value }, value)));
}

/** The id of the values to choose from; empty for numbers. */
function listOf({ columns }, number) {
  return columns[number].kind === "category" ? `values-${number + 1}` : "";
}

/** Adds to each word of a row where it stands in its own text, or the column whose value it is. */
export function located(found, row, inputs) {
  let end = Array.from(found.text).length;
  const starts = new Map();
  [...inputs.texts].reverse().forEach((name) => { // the texts are shown last, each on lines of its own after its name
    starts.set(name, end - Array.from(row[name]).length);
    end = starts.get(name) - Array.from(`\n${name}: `).length;
  });
  const words = found.words.map((word) => {
    const number = inputs.columns.findIndex(({ name }) => name === word.input);
    if (number < 0) return { ...word, at: word.start - starts.get(word.input) };
    return { ...word, at: 0, column: { ...inputs.columns[number], list: listOf(inputs, number) } };
  });
  return { ...found, words };
}

/** What to type for the value of a column as the model names it: for a range of numbers, a number in it. */
export function typed({ name, kind, values, edges }, named) {
  const value = named.slice(name.length + 1), place = values.indexOf(value);
  if (value === "missing") return "";
  if (kind === "category" || place < 0) return value;
  const [first] = edges;
  return String(place ? edges[place - 1] : first > 0 ? first / 2 : 2 * first - 1);
}
