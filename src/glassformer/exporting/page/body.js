// The body reader: the weighted mean of the scores of the words of a text (see readers/body/).

import { countedWords, separatorsOf } from "./counting.js";
import { BEGIN } from "./inputs.js";

const SHORTEST_PART = 3, LONGEST_PART = 6;

export class BodyReader {
  /** `described`: the parsed words.json. `arrays`: those of values.safetensors. */
  constructor(described, arrays) {
    const { head, bias } = arrays, size = arrays.values.length / described.words.length;
    this.pseudocount = described.pseudocount ?? 0;
    Object.assign(this, { bias, head, size, weights: arrays.weights, texts: head.length / (size * bias.length) });
    this.words = valuesOf(described.words, arrays.values, size);
    this.pieces = valuesOf(described.pieces, arrays.piece_values, size);
  }

  /** The scores of a text. Of a text without known words they are the bias. */
  scores(text) {
    const means = Array.from({ length: this.texts }, () => ({ sum: new Float64Array(this.size), whole: 0 }));
    for (const word of countedWords(text)) {
      if (word.startsWith(BEGIN)) continue;
      const before = separatorsOf(word).length, mean = means[Math.min(before, this.texts - 1)];
      const { weight, values } = this.of(word.slice(before));
      mean.whole += weight;
      values?.forEach((value, place) => { mean.sum[place] += weight * value; });
    }
    const width = this.bias.length, scores = Float64Array.from(this.bias);
    means.forEach(({ sum, whole }, text_) => sum.forEach((value, place) => {
      if (!value) return;
      for (let output = 0; output < width; output += 1) {
        scores[output] += (value / (whole + this.pseudocount)) * this.head[(text_ * this.size + place) * width + output];
      }
    }));
    return scores;
  }

  /** The values of a word, or the mean of those of its pieces, and its weight in the mean of a text. */
  of(word) {
    const known = this.words.get(word);
    if (known) return { weight: this.weights[known.number], values: known.values };
    const found = partsOf(word).map((part) => this.pieces.get(part)?.values).filter(Boolean);
    if (!found.length) return { weight: 0, values: null };
    return { weight: 1, values: found[0].map((_, place) => found.reduce((sum, part) => sum + part[place], 0) / found.length) };
  }
}

const valuesOf = (names, values, size) => new Map(names.map((name, number) => [
  name, { number, values: values.subarray(number * size, (number + 1) * size) },
]));

function partsOf(word) {
  if (!/\p{L}/u.test(word)) return [];
  const letters = Array.from(`<${word}>`), found = [];
  for (let length = SHORTEST_PART; length <= Math.min(LONGEST_PART, letters.length - 1); length += 1) {
    for (let start = 0; start + length <= letters.length; start += 1) found.push(letters.slice(start, start + length).join(""));
  }
  return found;
}
