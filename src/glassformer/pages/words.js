// The text with each word coloured by its share. A word is a button: it can be dropped or swapped.

import { el, namedIn, wordingOf } from "./dom.js";
import { openEditor } from "./editor.js";
import { appendWords, colour } from "./marked.js";
import { rove } from "./roving.js";

export class Words {
  constructor(edits, onEdit) {
    this.edits = edits;
    this.onEdit = onEdit;
    this.text = el("p", { className: "words", dir: "auto", role: "group" });
    this.title = el("h3", {});
    this.legend = el("p", { className: "legend" });
    this.verdict = el("p", { className: "trust" });
    this.place = el("div", { className: "why", hidden: true },
      this.title, this.text, this.legend, this.verdict);
    this.text.addEventListener("keydown", (event) => this.onKey(event));
    this.text.addEventListener("click", (event) => {
      const word = event.target.closest("[role=button]");
      if (word) this.open(word);
    });
    rove(this.text);
  }

  /** Shows new reasons, or a sentence about why there are none. */
  show(reasons, refusal = "") {
    this.reasons = reasons;
    this.place.hidden = !reasons && !refusal;
    this.place.classList.remove("stale");
    this.verdict.textContent = reasons ? reasons.verdict : refusal;
    this.verdict.className = reasons?.trusted === false ? "trust doubt" : "trust";
    this.text.replaceChildren();
    this.legend.replaceChildren();
    this.title.textContent = "Why?";
    if (!reasons) return;
    this.text.setAttribute("aria-label", "The text, word by word. Arrow keys move, Enter changes a word, Delete drops it.");
    const most = Math.max(...reasons.words.map((word) => Math.abs(word.total)), 1e-9);
    this.buttons = appendWords(this.text, reasons.text, reasons.words);
    this.buttons.forEach((button, number) => {
      button.dataset.number = number;
      button.setAttribute("aria-haspopup", "dialog");
      colour(button, reasons.words[number].total / most);
    });
    const { label, rival } = reasons;
    const sides = label === undefined ? ["raises the number", "   ", "lowers it", ""]
      : ["speaks for", ` ${label}   `, "speaks against", rival === null ? " it" : ` it, for ${rival}`];
    this.legend.append(el("span", { className: "key for" }, sides[0]), sides[1], el("span", { className: "key against" }, sides[2]), sides[3]);
    this.mark();
  }

  /** Marks the words that are dropped or swapped. The reasons stay those of the written text. */
  mark() {
    this.title.textContent = this.edits.any && this.reasons ? `Why ${namedIn(this.reasons)}, for the text as written?` : "Why?";
    this.buttons?.forEach((button, number) => {
      const word = this.reasons.words[number], edit = this.edits.of(number);
      button.classList.toggle("dropped", edit?.put === "");
      button.classList.toggle("swapped", Boolean(edit?.put));
      button.replaceChildren(...(edit?.put ? [el("s", {}, word.word), " ", el("b", {}, edit.put)] : [word.word]));
      const now = edit ? (edit.put ? `, swapped for ${edit.put}` : ", dropped") : "";
      button.setAttribute("aria-label", `${word.word} ${wordingOf(this.reasons).written(word.total)}${now}`);
    });
  }

  /** Says that the answer to a newer text is on its way. */
  stale() {
    this.place.classList.add("stale");
  }

  open(button) {
    const number = Number(button.dataset.number), word = this.reasons.words[number];
    openEditor({
      place: this.place, button, word, reasons: this.reasons, edit: this.edits.of(number),
      put: (text) => this.edit(number, text), undo: () => this.edit(number, null),
    });
  }

  edit(number, text) {
    if (text === null) this.edits.undo(number);
    else this.edits.set(number, this.reasons.words[number], text);
    this.onEdit();
  }

  onKey(event) {
    const button = event.target.closest("[role=button]");
    if (!button || event.ctrlKey || event.metaKey || event.altKey) return;
    const number = Number(button.dataset.number);
    if (event.key === "Enter" || event.key === " ") this.open(button);
    else if (event.key === "Delete" || event.key === "Backspace") this.edit(number, this.edits.of(number) ? null : "");
    else return;
    event.preventDefault();
  }
}
