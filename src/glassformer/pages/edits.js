// Words that the reader dropped or swapped. The text that was typed stays as it is.

import { counted } from "./dom.js";

export class Edits {
  constructor() {
    this.clear("");
  }

  clear(text) {
    this.text = text;
    this.words = new Map(); // number of the word → { start, end, put }, with `put` empty for a dropped word
  }

  get any() {
    return this.words.size > 0;
  }

  of(number) {
    return this.words.get(number);
  }

  set(number, word, put) {
    if (put === word.word) this.words.delete(number);
    else this.words.set(number, { start: word.start, end: word.end, put });
  }

  undo(number) {
    this.words.delete(number);
  }

  /** The text with the changes. A dropped word takes a space with it. */
  get changed() {
    const points = Array.from(this.text); // the server counts code points
    let end = 0, result = "";
    for (const edit of [...this.words.values()].sort((a, b) => a.start - b.start)) {
      result += points.slice(end, edit.start).join("") + edit.put;
      end = edit.end;
      if (!edit.put && points[end] === " " && (result === "" || result.endsWith(" "))) end += 1;
    }
    return result + points.slice(end).join("");
  }

  /** "2 words dropped, 1 word swapped" */
  get summary() {
    const dropped = [...this.words.values()].filter((edit) => !edit.put).length;
    const swapped = this.words.size - dropped;
    return [dropped && `${counted(dropped, "word")} dropped`, swapped && `${counted(swapped, "word")} swapped`]
      .filter(Boolean).join(", ");
  }
}
