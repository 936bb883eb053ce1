// The counting reader: adds up a weight for each n-gram of a text (see readers/counting/).

import { BEGIN, fieldsOf, SEPARATOR } from "./inputs.js";
import { plainWords } from "./tokenizer.js";

const START = "<start>", END = "<end>";
const LONGEST_RUN = 3, SHORTEST_PIECE = 2, LONGEST_PIECE = 5, LONGEST_WORD = 100;

/** The words that are counted. Of a very long one, its beginning is read. Words of a second text begin with a separator. */
export function countedWords(text) {
  if (!text.startsWith(BEGIN) && !text.includes(SEPARATOR)) return wordsOfText(text);
  let number = 0;
  return fieldsOf(text).flatMap(({ start, end, mark }) => {
    if (mark) return [text.slice(start, end)];
    const before = SEPARATOR.repeat(number);
    number += 1;
    return wordsOfText(text.slice(start, end)).map((word) => before + word);
  });
}

/** The words of one text. */
export const wordsOfText = (text) => plainWords(text)
  .map((word) => (word.length > LONGEST_WORD ? Array.from(word).slice(0, LONGEST_WORD).join("") : word));

/** The separators before a word: the number of its text. */
export const separatorsOf = (word) => word.match(/^\ufdd0*/u)[0];

/** The words of each text of a row. The values of columns are in none. */
export function textsIn(words) {
  if (!words.length) return [];
  if (![BEGIN, SEPARATOR].includes(words[0][0]) && words.at(-1)[0] !== SEPARATOR) return [words];
  const texts = new Map();
  for (const word of words) {
    if (word.startsWith(BEGIN)) continue;
    const before = separatorsOf(word);
    texts.set(before, [...(texts.get(before) ?? []), word]);
  }
  return [...texts.values()];
}

function wordNgrams(words) {
  const found = new Map();
  const add = (ngram) => found.set(ngram, (found.get(ngram) ?? 0) + 1);
  words.forEach(add);
  for (const text of textsIn(words)) {
    const whole = [START, ...text, END];
    for (let length = 2; length <= LONGEST_RUN; length += 1) {
      for (let first = 0; first + length <= whole.length; first += 1) add(whole.slice(first, first + length).join(" "));
    }
  }
  return found;
}

function characterNgrams(words) {
  const found = new Map();
  for (const word of words.filter(([first]) => first !== BEGIN)) {
    const before = separatorsOf(word), letters = Array.from(` ${word.slice(before.length)} `);
    for (let length = SHORTEST_PIECE; length <= LONGEST_PIECE; length += 1) {
      for (let start = 0; start + length <= letters.length; start += 1) {
        const piece = before + letters.slice(start, start + length).join("");
        found.set(piece, (found.get(piece) ?? 0) + 1);
      }
    }
  }
  return found;
}

const NGRAMS = { words: wordNgrams, characters: characterNgrams };

export class CountingReader {
  /** `described`: the parsed counting.json. `weights`: the arrays of counting.safetensors. */
  constructor(described, weights) {
    this.nClasses = described.n_classes;
    this.bias = weights.bias;
    this.families = Object.entries(described.ngrams).map(([family, ngrams]) => ({
      ngramsOf: NGRAMS[family],
      index: new Map(ngrams.map((ngram, number) => [ngram, number])),
      idf: weights[`${family}.idf`],
      tfidf: weights[`${family}.tfidf`],
      presence: weights[`${family}.presence`],
    }));
  }

  /** The logits of a text. Of a text without known n-grams they are the bias. */
  logits(text) {
    const words = countedWords(text), outputs = Float64Array.from(this.bias);
    for (const family of this.families) addOutputs(family, words, outputs);
    return outputs.length === this.nClasses ? outputs : Float64Array.of(-outputs[0] / 2, outputs[0] / 2);
  }
}

function addOutputs({ ngramsOf, index, idf, tfidf, presence }, words, outputs) {
  const known = [];
  let squares = 0;
  for (const [ngram, count] of ngramsOf(words)) {
    const number = index.get(ngram);
    if (number === undefined) continue;
    const value = (1 + Math.log(count)) * idf[number];
    squares += value ** 2;
    known.push([number, value]);
  }
  const length = Math.sqrt(squares) || 1, width = outputs.length;
  for (const [number, value] of known) {
    for (let output = 0; output < width; output += 1) {
      const at = number * width + output;
      outputs[output] += (tfidf ? (value / length) * tfidf[at] : 0) + (presence ? presence[at] : 0);
    }
  }
}
