// The field of a text, and what becomes of the text if words of it are changed.

export class TextField {
  /** `onInput` is called when something is typed. */
  constructor(area) {
    this.area = area;
    area.addEventListener("input", () => this.onInput());
  }

  /** What is asked; empty if there is nothing to ask. */
  get value() {
    return this.area.value.trim() ? this.area.value : "";
  }

  put(text) {
    this.area.value = text;
  }

  focus() {
    this.area.focus();
  }

  edited(text, edits) {
    return editedText(text, edits);
  }
}

/** A text with changes `{ at, length, put }`, with `put` empty for a dropped word, which takes a space with it. */
export function editedText(text, edits) {
  const points = Array.from(text); // the server counts code points
  let end = 0, result = "";
  for (const { at, length, put } of [...edits].sort((a, b) => a.at - b.at)) {
    result += points.slice(end, at).join("") + put;
    end = at + length;
    if (!put && points[end] === " " && (result === "" || result.endsWith(" "))) end += 1;
  }
  return result + points.slice(end).join("");
}
