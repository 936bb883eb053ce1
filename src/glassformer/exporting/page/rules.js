// The rules reader: adds up what the rules that match a text say, unless one of them decides (see readers/rules/).

import { wordsOfText } from "./counting.js";
import { BEGIN, fieldsOf, RESERVED, SEPARATOR } from "./inputs.js";

export class RulesReader {
  /** `described`: see exporting/browser_rules.py. */
  constructor({ width, silences, farthest, rules }) {
    Object.assign(this, { width, silences, farthest: farthest ?? Infinity, rules, phrases: new Map(), patterns: [] });
    rules.forEach(({ phrase, pattern }, number) => {
      if (pattern) this.patterns.push([number, new RegExp(pattern.source, pattern.flags)]);
      else this.phrases.set(phrase, [...(this.phrases.get(phrase) ?? []), number]);
    });
    this.lengths = [...new Set([...this.phrases.keys()].map((phrase) => phrase.split(" ").length))];
  }

  /** The numbers of the rules that match a text, in ascending order. */
  matches(text) {
    const found = new Set();
    for (const words of fieldTexts(text).map(wordsOfText)) {
      for (const length of this.lengths) {
        for (let first = 0; first + length <= words.length; first += 1) {
          this.phrases.get(words.slice(first, first + length).join(" "))?.forEach((number) => found.add(number));
        }
      }
    }
    const written = text.normalize("NFC").replace(RESERVED, "\n");
    for (const [number, pattern] of this.patterns) if (pattern.test(written)) found.add(number);
    return [...found].sort((one, other) => one - other);
  }

  /** The scores of a text, and whether they are the answer by themselves. */
  read(text) {
    const matched = this.matches(text).map((number) => this.rules[number]), scores = new Float64Array(this.width);
    const deciding = new Map();
    for (const rule of matched) if (rule.always && !deciding.has(rule.decision)) deciding.set(rule.decision, rule);
    for (const rule of matched) if ((deciding.get(rule.decision) ?? rule) === rule) scores[rule.label] += rule.added;
    const decides = this.silences && deciding.size > 0, { farthest } = this;
    return { scores: decides ? scores : scores.map((score) => Math.min(farthest, Math.max(-farthest, score))), decides };
  }
}

/** The texts and the values of columns of a row: no phrase goes on from one to the next. */
function fieldTexts(text) {
  if (!text.startsWith(BEGIN) && !text.includes(SEPARATOR)) return [text];
  return fieldsOf(text).map(({ start, end, mark }) => (mark ? text.slice(start + 1, end - 1) : text.slice(start, end)));
}
