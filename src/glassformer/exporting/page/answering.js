// How a model answers: the scores of its readers, and what they mean to its target (see prediction/answering.py).

import { composed, laidOut } from "./inputs.js";
import { coveringWindows } from "./transformer.js";
import { unseenShare } from "./unseen.js";
import { wellFormed, wordsIn } from "./tokenizer.js";

const UNKNOWN_SHOWN = 20, WORDS_AT_ONCE = 8;
const MOST_CHARACTERS = 100_000;
const LONGEST_EXPLANATION = 4000; // milliseconds
const BLANK = /^[\p{White_Space}\x1c-\x1f]*$/u; // as Python strips texts

export class Answering {
  /** `config`: that of the page. `target`: what scores mean. A part that the model does not have is null. */
  constructor({ config, target, tokenizer, counting, body, rules, transformer, seen }) {
    Object.assign(this, { config, target, tokenizer, counting, body, rules, transformer, seen });
  }

  /** What is read of a text that was typed, or of a row. */
  read(typed) {
    const { inputs } = this.config, text = wellFormed(inputs ? composed(typed, inputs) : typed);
    if (text.length <= MOST_CHARACTERS) return text;
    throw new Error(`The text has more than the ${MOST_CHARACTERS.toLocaleString("en")} characters that are read here. Shorten it.`);
  }

  /** The weighted scores of each reader for each text. They add up to those of the model. */
  async readerLogits(texts) {
    const weights = Object.entries(this.config.weights);
    const scores = this.transformer ? await this.transformer.score(texts.map((text) => this.tokenizer.encode(text))) : null;
    return texts.map((text, number) => {
      const ruled = this.rules?.read(text);
      return Object.fromEntries(weights.map(([name, weight]) => {
        if (!weight || (ruled?.decides && name !== "rules")) return [name, new Float64Array(this.config.width)];
        const asked = { counting: () => this.counting.logits(text), body: () => this.body.scores(text), rules: () => ruled.scores };
        return [name, (asked[name]?.() ?? scores[number]).map((score) => weight * score)];
      }));
    });
  }

  /** The record that `glassformer predict` gives with JSON, and what the text was read as. */
  async answer(typed) {
    const text = this.read(typed);
    if (BLANK.test(text)) return { ...this.target.none };
    const [byReader] = await this.readerLogits([text]), { readers, ...answer } = this.target.answer(byReader);
    const unseen = this.seen ? unseenShare(text, this.seen) : null;
    return {
      ...answer,
      readers: Object.keys(byReader).length > 1 ? readers : null,
      unseen_share: unseen,
      unlike_training: unseen === null ? null : unseen > Math.fround(this.config.unlike.threshold),
      reading: this.transformer ? this.reading(text) : null,
    };
  }

  reading(text) {
    const most = this.tokenizer.most, window = this.transformer.maxSeqLen;
    const whole = this.tokenizer.tokens(text, Infinity).length, count = Math.min(whole, most);
    const windows = coveringWindows(count, window).length, unknown = this.tokenizer.unknownWords(text);
    let note = null;
    if (whole > most) note = `The transformer read only the first ${most.toLocaleString("en")} tokens of the text.`;
    else if (windows > 1) {
      note = `The transformer read ${count.toLocaleString("en")} tokens in ${windows} overlapping windows of `
        + `${window.toLocaleString("en")}, and its logits are their mean.`;
    }
    return { note, unknown_words: unknown.slice(0, UNKNOWN_SHOWN), more_unknown_words: Math.max(0, unknown.length - UNKNOWN_SHOWN) };
  }

  /** The words of a text, each with what the answer loses if it is deleted. `pause` is awaited at times. */
  async leaveOneOut(typed, pause = async () => {}) {
    const text = this.read(typed), { inputs } = this.config;
    const { shown, parts } = inputs ? laidOut(text, inputs) : { shown: text, parts: [{ start: 0, end: text.length, at: 0 }] };
    const words = parts.flatMap((part) => wordsOf(text, part));
    const began = performance.now(), [whole] = await this.readerLogits([text]);
    if (words.length * (performance.now() - began) > LONGEST_EXPLANATION) {
      throw new Error("The text is too long to read it again here without each of its words.");
    }
    const { worth, named } = this.target.asked(whole), found = [];
    for (let start = 0; start < words.length; start += WORDS_AT_ONCE) {
      const part = words.slice(start, start + WORDS_AT_ONCE);
      const without = await this.readerLogits(part.map(({ from, to, put }) => text.slice(0, from) + put + text.slice(to)));
      part.forEach((word, number) => {
        const shares = Object.entries(whole).map(([name, logits]) => [name, worth(logits) - worth(without[number][name])]);
        const { from, to, put, ...about } = word;
        found.push({ ...about, ...Object.fromEntries(shares), total: shares.reduce((sum, [, share]) => sum + share, 0) });
      });
      await pause();
    }
    return {
      text: shown, words: inCodePoints(shown, found), ...named,
      readers: Object.keys(whole).filter((name) => this.config.weights[name]),
      verdict: `Each word was deleted by itself${inputs?.columns.length ? ", and each value of a column was missing" : ""}. Its colour shows what the answer lost.`,
    };
  }
}

/** The words of a part of what is read: where they are shown, and { from, to, put } to read it without them. */
function wordsOf(text, { input, mark, start, end, at, without = "" }) {
  const about = input === undefined ? {} : { input };
  if (mark) return [{ word: text.slice(start + 1, end - 1), start: at, end: at + end - start - 2, from: start, to: end, put: without, ...about }];
  return wordsIn(text.slice(start, end)).map((word) => ({
    word: word.word, start: at + word.start, end: at + word.end, from: start + word.start, to: start + word.end, put: "", ...about,
  }));
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
