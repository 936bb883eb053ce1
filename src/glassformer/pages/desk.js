// The text field and a column for each model: what is typed is answered as soon as the typing pauses.

import { Column } from "./column.js";
import { byId, el, percent, said } from "./dom.js";
import { Edits } from "./edits.js";
import { closeEditor } from "./editor.js";

const TYPING = 120, EXPLAINING = 450, SPEAKING = 900; // milliseconds

export class Desk {
  /** `options`: what a column needs besides: panels, ask, limits, isGone, onGone. */
  constructor(models, options) {
    Object.assign(this, { text: byId("text"), changes: byId("changes"), edits: new Edits(), timers: {} });
    this.columns = models.map((model) => new Column(model, this.edits, {
      ...options,
      onEdit: () => this.onEdit(), onAnswer: () => this.speak(), onReasons: () => this.showChanges(), named: models.length > 1,
    }));
    byId("columns").className = this.columns.length > 1 ? "two" : "alone";
    byId("columns").replaceChildren(...this.columns.map(({ place }) => place));
    this.text.addEventListener("input", () => this.read());
    if (this.text.value) this.read(); // a browser may keep what was typed when the page is loaded again
  }

  static showNames(models) {
    const names = new Intl.ListFormat("en").format(models.map(({ name }) => name));
    document.title = `${names} · glassformer`;
    byId("names").textContent = names;
  }

  later(name, milliseconds, what) {
    clearTimeout(this.timers[name]);
    this.timers[name] = setTimeout(what, milliseconds);
  }

  read() {
    this.edits.clear(this.text.value);
    closeEditor();
    this.showChanges();
    this.later("read", TYPING, () => this.columns.forEach((column) => column.read(this.text.value)));
    this.later("explain", EXPLAINING, () => this.columns.forEach((column) => column.explain(this.text.value)));
  }

  /** Puts another text in the place of the typed one. */
  put(text) {
    this.text.value = text;
    this.read();
    this.text.focus();
  }

  onEdit() {
    this.showChanges();
    this.columns.forEach((column) => column.reread());
  }

  showChanges() {
    this.changes.hidden = !this.text.value.trim();
    if (!this.edits.any) {
      const words = this.columns?.some(({ state }) => state.reasons?.words.length);
      this.changes.textContent = words ? "Click a word below to drop or swap it." : "";
      return;
    }
    const button = (name, act) => el("button", { type: "button", onclick: act }, name);
    this.changes.replaceChildren(
      el("span", {}, `${this.edits.summary}.`), " ",
      button("Keep", () => this.put(this.edits.changed)), " ",
      button("Undo", () => { this.edits.clear(this.text.value); this.onEdit(); this.text.focus(); }));
  }

  /** Tells a screen reader the answer, once the typing pauses. */
  speak() {
    this.later("speak", SPEAKING, () => {
      byId("spoken").textContent = this.columns.map(({ state: { model, answer, changed } }) => {
        const now = changed ?? answer;
        return now?.prediction == null ? "" : `${model.name}: ${said(now.prediction)}, ${percent(now.confidence)}.`;
      }).join(" ");
    });
  }
}
