// The tokenizers of glassformer, as the library `tokenizers` runs them (see data/tokenizers.py). Only reading.

const UNKNOWN_ID = 1;
const UNSPACED = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"].map((name) => `\\p{sc=${name}}`).join("");
const IN_WORDS = `(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}]`;
const WORD = new RegExp(`[${UNSPACED}]\\p{M}*|(?:${IN_WORDS})+(?:['’][\\p{L}\\p{M}]+)*|\\P{White_Space}`, "gu");
// GPT-2's pattern. Its \s is Unicode's White_Space, and that of JavaScript is not.
const BYTE_WORD = new RegExp(
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+"
  + "|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+", "gu");
const LETTER = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u; // \w of Rust
const SPELLED_SPECIAL = /<(?=(?:pad|unk|cls)>)/u; // only the kind `unigram` would find special tokens in a text
const LONGEST_IN_PIECES = 100; // characters; a longer word is unknown to the kind `wordpiece`
const UNKNOWN_PENALTY = 10; // of the kind `unigram`, below the score of its rarest piece

/** The words of a text, with their places in units of UTF-16. */
export const wordsIn = (text) =>
  Array.from(text.matchAll(WORD), ({ 0: word, index }) => ({ word, start: index, end: index + word.length }));

/** The words as the counting reader sees them: lower case, Unicode's form NFKC. */
export const plainWords = (text) => text.normalize("NFKC").toLowerCase().match(WORD) ?? [];

/** A text as Python may hold it: without halves of surrogate pairs. */
export const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

export class Tokenizer {
  /** `file`: the parsed tokenizer.json. `settings`: those of `tokenizer` in config.json. */
  constructor(file, settings) {
    this.settings = settings;
    this.most = file.truncation?.max_length ?? Infinity;
    const [cut, Model] = KINDS[settings.kind];
    this.cut = cut;
    this.model = new Model(file.model);
    const added = file.added_tokens.filter(({ special }) => !special);
    this.added = new Map(added.map(({ content, id }) => [content, id]));
    this.takesSpace = added.some(({ lstrip }) => lstrip);
    this.addedPattern = anyOf(added.filter(({ normalized }) => normalized));
    this.marks = anyOf(added.filter(({ normalized }) => !normalized)); // of rows: found before the text is normalised
  }

  normalised(text) {
    const { strip_accents: stripped, normalization, lowercase } = this.settings;
    if (stripped) text = text.normalize("NFD").replace(/\p{M}/gu, "");
    if (normalization !== "none") text = text.normalize(normalization.toUpperCase());
    // Each letter by itself: a sigma at the end of a word is then like any other.
    return lowercase ? Array.from(text, (letter) => letter.toLowerCase()).join("") : text;
  }

  /** Tokens as [piece, id]. */
  tokens(text, most = this.most) {
    const found = [];
    for (const [part, id] of this.unmarked(text)) {
      if (id !== undefined) found.push([part, id]);
      else for (const word of this.cut(part)) for (const token of this.model.tokens(word)) found.push(token);
    }
    return found.length > most ? found.slice(0, most) : found;
  }

  encode(text) {
    return this.tokens(text).map(([, id]) => id);
  }

  /** The parts of a text that are not in the vocabulary, spelled as the vocabulary would, without repeats. */
  unknownWords(text) {
    return [...new Set(this.tokens(text).filter(([, id]) => id === UNKNOWN_ID).map(([piece]) => piece))];
  }

  /** Cuts a text at the marks of a row, and what is between them at words: [part, its id or undefined]. */
  *unmarked(text) {
    let end = 0;
    for (const { 0: mark, index } of this.marks ? text.matchAll(this.marks) : []) {
      yield* this.parts(this.normalised(text.slice(end, index)));
      yield [mark, this.added.get(mark)];
      end = index + mark.length;
    }
    yield* this.parts(this.normalised(text.slice(end)));
  }

  /** Cuts a text before and after each word that was learned after training: [part, its id or undefined]. */
  *parts(text) {
    let end = 0;
    for (const { 0: word, index } of this.addedPattern ? text.matchAll(this.addedPattern) : []) {
      const before = text.slice(0, index), after = text.slice(index + word.length);
      if (LETTER.test(lastOf(before)) || LETTER.test(firstOf(after))) continue;
      const spaces = this.takesSpace ? before.slice(end).match(/\p{White_Space}*$/u)[0].length : 0;
      if (index - spaces > end) yield [text.slice(end, index - spaces)];
      yield [word, this.added.get(word)];
      end = index + word.length;
    }
    if (end < text.length) yield [text.slice(end)];
  }
}

/** A pattern of tokens, the longest first. */
function anyOf(tokens) {
  const contents = tokens.map(({ content }) => content).sort((one, other) => other.length - one.length);
  return contents.length ? new RegExp(contents.map(literal).join("|"), "gu") : null;
}

const literal = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
const lastOf = (text) => text.match(/.$/su)?.[0] ?? "";
const firstOf = (text) => text.match(/^./su)?.[0] ?? "";

const wholeWords = (text) => text.match(WORD) ?? [];
const characters = (text) => Array.from(text);
const oneByOne = (text) => [text];
const byteWords = (text) => text.match(BYTE_WORD) ?? [];

function spaced(text) {
  const marked = text.replaceAll(" ", "▁");
  const pieces = (marked.startsWith("▁") ? marked : `▁${marked}`).match(/▁[^▁]*/gu);
  return pieces.flatMap((piece) => {
    const parts = [];
    for (let found; (found = SPELLED_SPECIAL.exec(piece)); piece = piece.slice(found.index + 1)) {
      if (found.index) parts.push(piece.slice(0, found.index));
      parts.push("<");
    }
    return piece ? [...parts, piece] : parts;
  });
}

class Words {
  constructor({ vocab }) {
    this.ids = new Map(Object.entries(vocab));
  }

  tokens(word) {
    return [[word, this.ids.get(word) ?? UNKNOWN_ID]];
  }
}

class WordPieces {
  constructor({ vocab, continuing_subword_prefix: prefix, max_input_chars_per_word: longest }) {
    this.ids = new Map(Object.entries(vocab));
    this.prefix = prefix ?? "##";
    this.longest = longest ?? LONGEST_IN_PIECES;
  }

  /** The longest piece of the vocabulary, again and again. One part without a piece makes the whole word unknown. */
  tokens(word) {
    const letters = Array.from(word), found = [];
    if (letters.length > this.longest) return [[word, UNKNOWN_ID]];
    for (let start = 0, end; start < letters.length; start = end) {
      let piece, id;
      for (end = letters.length; end > start; end -= 1) {
        piece = (start ? this.prefix : "") + letters.slice(start, end).join("");
        id = this.ids.get(piece);
        if (id !== undefined) break;
      }
      if (id === undefined) return [[word, UNKNOWN_ID]];
      found.push([piece, id]);
    }
    return found;
  }
}

class BytePairs {
  constructor({ vocab, merges }) {
    this.ids = new Map(Object.entries(vocab));
    this.ranks = new Map(merges.map(([first, second], rank) => [`${first} ${second}`, rank]));
  }

  /** Joins the pair that was learned first, the leftmost of equal ones, until no pair is known. */
  tokens(word) {
    const pieces = Array.from(new TextEncoder().encode(word), (byte) => BYTE_LETTERS[byte]);
    const rankAt = (place) => this.ranks.get(`${pieces[place]} ${pieces[place + 1]}`) ?? Infinity;
    const ranks = this.ranks.size ? pieces.slice(1).map((_, place) => rankAt(place)) : [];
    while (ranks.length) {
      let at = 0;
      for (let place = 1; place < ranks.length; place += 1) if (ranks[place] < ranks[at]) at = place;
      if (ranks[at] === Infinity) break;
      pieces.splice(at, 2, pieces[at] + pieces[at + 1]);
      ranks.splice(at, 1);
      if (at > 0) ranks[at - 1] = rankAt(at - 1);
      if (at < ranks.length) ranks[at] = rankAt(at);
    }
    return pieces.map((piece) => [piece, this.ids.get(piece) ?? UNKNOWN_ID]);
  }
}

/** The printable letter that stands for each byte (GPT-2). */
const BYTE_LETTERS = (() => {
  const plain = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let others = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(plain(byte) ? byte : 256 + others++));
})();

class Unigram {
  constructor({ vocab }) {
    this.pieces = new Map(vocab.map(([piece, score], id) => [piece, { id, score }]));
    this.unknownScore = Math.min(...vocab.map(([, score]) => score)) - UNKNOWN_PENALTY;
    this.longest = Math.max(...vocab.map(([piece]) => Array.from(piece).length));
  }

  /** The most probable pieces (Viterbi). Unknown letters beside each other are one token. */
  tokens(word) {
    const letters = Array.from(word);
    const ends = Array.from({ length: letters.length + 1 }, () => null);
    ends[0] = { score: 0 };
    for (let start = 0; start < letters.length; start += 1) {
      const reach = (end, id, score) => {
        if (ends[end] === null || score > ends[end].score) ends[end] = { start, id, score };
      };
      let single = false, piece = "";
      for (let end = start + 1; end <= Math.min(letters.length, start + this.longest); end += 1) {
        piece += letters[end - 1];
        const known = this.pieces.get(piece);
        if (!known) continue;
        reach(end, known.id, known.score + ends[start].score);
        single ||= end === start + 1;
      }
      if (!single) reach(start + 1, UNKNOWN_ID, this.unknownScore + ends[start].score);
    }
    const found = [];
    for (let end = letters.length; end > 0; end = ends[end].start) {
      const { start, id } = ends[end], piece = letters.slice(start, end).join("");
      if (id === UNKNOWN_ID && found.at(-1)?.[1] === UNKNOWN_ID) found.at(-1)[0] = piece + found.at(-1)[0];
      else found.push([piece, id]);
    }
    return found.reverse();
  }
}

/** For each kind of tokenizer: how it cuts a text, and what makes tokens of the parts. */
const KINDS = {
  word: [wholeWords, Words], character: [characters, Words], byte: [oneByOne, BytePairs], bpe: [byteWords, BytePairs],
  wordpiece: [wholeWords, WordPieces], unigram: [spaced, Unigram],
};
