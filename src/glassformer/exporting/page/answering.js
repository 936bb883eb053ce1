// How a classifier answers: both readers, their sum, the temperature (see prediction/answering.py and answers.py).

import { coveringWindows } from "./transformer.js";
import { unseenShare } from "./unseen.js";
import { wellFormed, wordsIn } from "./tokenizer.js";

const THRESHOLD = 0.5, UNKNOWN_SHOWN = 20, WORDS_AT_ONCE = 8;
const LONGEST_EXPLANATION = 4000; // milliseconds
const BLANK = /^[\p{White_Space}\x1c-\x1f]*$/u; // as Python strips texts

export class Answering {
  /** `config`: that of the page. A part that the model does not have is null. */
  constructor({ config, tokenizer, counting, transformer, seen }) {
    Object.assign(this, { config, tokenizer, counting, transformer, seen });
  }

  /** The weighted logits of each reader for each text. They add up to the logits of the model. */
  async readerLogits(texts) {
    const { readers } = this.config;
    const scores = this.transformer ? await this.transformer.score(texts.map((text) => this.tokenizer.encode(text))) : null;
    return texts.map((text, number) => {
      if (!readers) return { transformer: scores[number] };
      const counting = this.counting.logits(text).map((logit) => readers.counting.weight * logit);
      return {
        counting,
        transformer: scores ? scores[number].map((logit) => readers.transformer.weight * logit) : counting.map(() => 0),
      };
    });
  }

  /** The record that `glassformer predict` gives with JSON, and what the text was read as. */
  async answer(typed) {
    const text = wellFormed(typed);
    if (BLANK.test(text)) return { prediction: null, confidence: null, probabilities: null };
    const { labels, multilabel } = this.config;
    const [byReader] = await this.readerLogits([text]);
    const probs = this.probabilities(total(byReader));
    const unseen = this.seen ? unseenShare(text, this.seen) : null;
    return {
      prediction: multilabel ? labels.filter((_, label) => probs[label] >= THRESHOLD) : labels[ranked(probs)[0]],
      confidence: multilabel ? Math.min(...probs.map((prob) => Math.max(prob, 1 - prob))) : Math.max(...probs),
      probabilities: Object.fromEntries(ranked(probs).map((label) => [labels[label], probs[label]])),
      readers: this.config.readers ? this.margins(byReader, probs) : null,
      unseen_share: unseen,
      unlike_training: unseen === null ? null : unseen > Math.fround(this.config.unlike.threshold),
      reading: this.transformer ? this.reading(text) : null,
    };
  }

  /** Calibrated probabilities, as float32. */
  probabilities(logits) {
    const scaled = logits.map((logit) => logit / this.config.temperature);
    if (!scaled.every(Number.isFinite)) throw new Error("The model gives NaN or infinite logits: its weights are damaged.");
    if (this.config.multilabel) return Array.from(scaled, (logit) => Math.fround(1 / (1 + Math.exp(-logit))));
    const most = Math.max(...scaled), powers = Array.from(scaled, (logit) => Math.exp(logit - most));
    const sum = powers.reduce((one, other) => one + other);
    return powers.map((power) => Math.fround(power / sum));
  }

  /** What each reader adds to the margin of the answer: over the second label, or of the least certain label. */
  margins(byReader, probs) {
    const [first, second] = ranked(probs), [least] = ranked(probs.map((prob) => -Math.abs(prob - THRESHOLD)));
    const sign = probs[least] >= THRESHOLD ? 1 : -1;
    const margin = (logits) => (this.config.multilabel ? sign * logits[least] : logits[first] - (logits[second] ?? 0));
    return Object.fromEntries(Object.entries(byReader).map(([name, logits]) => [name, margin(logits) / this.config.temperature]));
  }

  reading(text) {
    const ids = this.tokenizer.encode(text), most = this.tokenizer.most, window = this.transformer.maxSeqLen;
    const windows = coveringWindows(ids.length, window).length, unknown = this.tokenizer.unknownWords(text);
    let note = null;
    if (ids.length >= most) note = `The transformer reads ${most.toLocaleString("en")} tokens of a text at most.`;
    else if (windows > 1) {
      note = `The transformer read ${ids.length.toLocaleString("en")} tokens in ${windows} overlapping windows of `
        + `${window.toLocaleString("en")}, and its logits are their mean.`;
    }
    return { note, unknown_words: unknown.slice(0, UNKNOWN_SHOWN), more_unknown_words: Math.max(0, unknown.length - UNKNOWN_SHOWN) };
  }

  /** The words of a text, each with what the margin of the answer loses if it is deleted. `pause` is awaited at times. */
  async leaveOneOut(typed, pause = async () => {}) {
    const text = wellFormed(typed), words = wordsIn(text), { labels, multilabel, temperature } = this.config;
    const began = performance.now(), [whole] = await this.readerLogits([text]);
    if (words.length * (performance.now() - began) > LONGEST_EXPLANATION) {
      throw new Error("The text is too long to read it again here without each of its words.");
    }
    const [first, second] = ranked(Array.from(total(whole))), rival = multilabel ? undefined : second;
    const margin = (logits) => (logits[first] - (rival === undefined ? 0 : logits[rival])) / temperature;
    const found = [];
    for (let start = 0; start < words.length; start += WORDS_AT_ONCE) {
      const part = words.slice(start, start + WORDS_AT_ONCE);
      const without = await this.readerLogits(part.map((word) => text.slice(0, word.start) + text.slice(word.end)));
      part.forEach((word, number) => {
        const shares = Object.entries(whole).map(([name, logits]) => [name, margin(logits) - margin(without[number][name])]);
        found.push({ ...word, ...Object.fromEntries(shares), total: shares.reduce((sum, [, share]) => sum + share, 0) });
      });
      await pause();
    }
    return {
      text, words: inCodePoints(text, found), label: labels[first], rival: rival === undefined ? null : labels[rival],
      readers: this.transformer ? Object.keys(whole) : ["counting"],
      verdict: "Each word was deleted by itself. Its colour shows what the answer lost.",
    };
  }
}

/** Counts the places of words in code points, as pages do. */
function inCodePoints(text, words) {
  const places = new Uint32Array(text.length + 1);
  let points = 0, at = 0;
  for (const point of text) {
    places[at] = points;
    at += point.length;
    points += 1;
  }
  places[at] = points;
  return words.map((word) => ({ ...word, start: places[word.start], end: places[word.end] }));
}

function total(byReader) {
  return Object.values(byReader).reduce((one, other) => one.map((logit, label) => logit + other[label]));
}

/** The numbers of the labels, the most probable first. */
const ranked = (probs) => probs.map((_, label) => label).sort((one, other) => probs[other] - probs[one]);
