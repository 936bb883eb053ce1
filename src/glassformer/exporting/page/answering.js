// How a classifier answers: both readers, their sum, the temperature (see prediction/answering.py and answers.py).

import { coveringWindows } from "./transformer.js";
import { unseenShare } from "./unseen.js";
import { wellFormed, wordsIn } from "./tokenizer.js";

const THRESHOLD = 0.5, UNKNOWN_SHOWN = 20;
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
    const margin = this.marginOf(probs);
    return Object.fromEntries(Object.entries(byReader).map(([name, logits]) => [name, margin(logits) / this.config.temperature]));
  }

  /** The margin of an answer as a function of logits. */
  marginOf(probs) {
    if (this.config.multilabel) {
      const least = ranked(probs.map((prob) => -Math.abs(prob - THRESHOLD)))[0], sign = probs[least] >= THRESHOLD ? 1 : -1;
      return (logits) => sign * logits[least];
    }
    const [first, second] = ranked(probs);
    return (logits) => (second === undefined ? logits[first] : logits[first] - logits[second]);
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

  /** Deletes each word by itself, and yields how much the margin loses, some words at a time. */
  async *leaveOneOut(typed, wordsAtOnce) {
    const text = wellFormed(typed), words = wordsIn(text);
    const whole = total((await this.readerLogits([text]))[0]), margin = this.marginOf(this.probabilities(whole));
    for (let first = 0; first < words.length; first += wordsAtOnce) {
      const part = words.slice(first, first + wordsAtOnce);
      const without = await this.readerLogits(part.map(([, start, end]) => text.slice(0, start) + text.slice(end)));
      yield part.map(([word, start, end], number) => (
        { word, start, end, total: (margin(whole) - margin(total(without[number]))) / this.config.temperature }));
    }
  }
}

function total(byReader) {
  return Object.values(byReader).reduce((one, other) => one.map((logit, label) => logit + other[label]));
}

/** The numbers of the labels, the most probable first. */
const ranked = (probs) => probs.map((_, label) => label).sort((one, other) => probs[other] - probs[one]);
