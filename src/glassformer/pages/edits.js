// Words that the reader dropped or swapped. What was typed stays as it is.

import { counted } from "./dom.js";

export class Edits {
  /** `field`: what was typed into, which knows what becomes of it with changes. */
  constructor(field) {
    this.field = field;
    this.clear("");
  }

  clear(asked) {
    this.asked = asked;
    this.words = new Map(); // number of the word → { input, at, length, put }, with `put` empty for a dropped word
  }

  get any() {
    return this.words.size > 0;
  }

  of(number) {
    return this.words.get(number);
  }

  set(number, word, put) {
    if (put === word.word) this.words.delete(number);
    else this.words.set(number, { input: word.input, at: word.at ?? word.start, length: word.end - word.start, put });
  }

  undo(number) {
    this.words.delete(number);
  }

  /** What was typed, with the changes. */
  get changed() {
    return this.field.edited(this.asked, this.words.values());
  }

  /** "2 words dropped, 1 word swapped" */
  get summary() {
    const dropped = [...this.words.values()].filter((edit) => !edit.put).length;
    const swapped = this.words.size - dropped;
    return [dropped && `${counted(dropped, "word")} dropped`, swapped && `${counted(swapped, "word")} swapped`]
      .filter(Boolean).join(", ");
  }
}
