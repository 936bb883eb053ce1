// What each attention head does for the answer: what the margin loses without it, and which words it looks at.

import { el, percent, wordingOf } from "./dom.js";
import { Fold, perColumn } from "./fold.js";
import { appendWords, colour } from "./marked.js";
import { rove } from "./roving.js";
import { Latest } from "./latest.js";
import { Gone, post } from "./server.js";

const NAMED = 5, FEWEST = 0.005; // words, and the least attention that is worth naming

export const drawHeads = perColumn(() => {
  const heads = new Heads();
  const fold = new Fold("Head by head", {
    ask: ({ model, reasons }) => post("heads", { text: reasons.asked, label: reasons.label, model: model.name }),
    show: (found, state) => heads.show(found, state),
  });
  return { draw: (state) => (state.model.has_heads ? fold.draw(state) : null) };
});

class Heads {
  constructor() {
    this.answers = new Latest(
      ({ text, word, state }) => post("attention", { text, word, model: state.model.name }),
      ({ heads, word }, found) => {
        if (heads === this.heads && word === this.word) this.paint(found.heads);
      },
      ({ state }, error) => {
        if (error instanceof Gone) state.onGone();
        else this.said.textContent = error.message;
      });
  }

  show({ heads, words }, state) {
    Object.assign(this, { heads, words, state, word: null, looks: heads });
    const strongest = heads.reduce((best, head, number) =>
      (Math.abs(head.share) > Math.abs(heads[best].share) ? number : best), 0);
    if (!(this.chosen < heads.length)) this.chosen = strongest;
    this.said = el("p", { className: "said", "aria-live": "polite" });
    this.text = this.drawText(state.reasons.text);
    const windows = state.answer?.reading?.windows ?? 1;
    const means = windows > 1 ? ` The transformer reads this text in ${windows} windows, and the figures are means over them.` : "";
    const drawn = el("div", {},
      el("p", { className: "soft" }, `How much the ${wordingOf(state.reasons).whole} loses without each head${wordingOf(state.reasons).unit}. Choose a head to see which words `
        + `it looks at, then a word to see where it looks from there.${means}`),
      this.drawGrid(), this.said, this.text);
    this.paint(heads);
    return drawn;
  }

  drawGrid() {
    const inRow = this.heads.filter(({ layer }) => layer === 1).length;
    const most = Math.max(...this.heads.map(({ share }) => Math.abs(share)), 1e-9);
    const { unit, written } = wordingOf(this.state.reasons);
    this.cells = this.heads.map(({ layer, head, share }, number) => {
      const cell = el("button", {
        type: "button", tabIndex: number === this.chosen ? 0 : -1, "aria-label": `Block ${layer}, head ${head}: ${written(share)}`,
        onclick: () => this.choose(number),
      }, written(share));
      colour(cell, share / most);
      cell.addEventListener("focus", () => this.choose(number));
      return cell;
    });
    const rows = [];
    for (let first = 0; first < this.cells.length; first += inRow) {
      rows.push(el("tr", {}, el("th", { scope: "row" }, `block ${this.heads[first].layer}`),
        ...this.cells.slice(first, first + inRow).map((cell) => el("td", {}, cell))));
    }
    const names = this.heads.slice(0, inRow).map(({ head }) => el("th", { scope: "col" }, `head ${head}`));
    const grid = el("table", { "aria-label": `The share of each attention head${unit}` },
      el("thead", {}, el("tr", {}, el("td", {}), ...names)), el("tbody", {}, ...rows));
    rove(grid, inRow);
    return el("div", { className: "scroll" }, grid);
  }

  drawText(text) {
    const place = el("p", { className: "words", dir: "auto", role: "group" });
    this.buttons = appendWords(place, text, this.words);
    const from = ({ target }) => { if (this.buttons.includes(target)) this.from(this.buttons.indexOf(target)); };
    place.addEventListener("click", from);
    place.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      from(event);
      event.preventDefault();
    });
    rove(place);
    return place;
  }

  choose(number) {
    if (number === this.chosen) return;
    this.chosen = number;
    this.paint(this.looks);
  }

  /** Looks from a word. The same word again: from all words. */
  from(word) {
    this.word = word === this.word ? null : word;
    if (this.word === null) this.paint(this.heads);
    else this.answers.want({ text: this.state.reasons.asked, word, heads: this.heads, state: this.state });
  }

  paint(looks) {
    this.looks = looks;
    const { layer, head, attention } = looks[this.chosen], most = Math.max(...attention, 1e-9);
    this.cells.forEach((cell, number) => cell.setAttribute("aria-pressed", String(number === this.chosen)));
    this.buttons.forEach((button, number) => {
      const share = percent(attention[number]);
      colour(button, attention[number] / most);
      button.title = share;
      button.setAttribute("aria-label", `${this.words[number].word} ${share}`);
      button.setAttribute("aria-pressed", String(number === this.word));
    });
    this.text.setAttribute("aria-label", `Where block ${layer}, head ${head} looks. Arrow keys move, Enter looks from a word.`);
    const order = attention.map((_, number) => number).filter((number) => attention[number] >= FEWEST)
      .sort((a, b) => attention[b] - attention[a]).slice(0, NAMED);
    const rest = 1 - attention.reduce((sum, share) => sum + share, 0);
    this.said.replaceChildren(
      el("b", {}, `Block ${layer}, head ${head}`),
      ...(this.word === null ? [", over all words,"] : [", from ", ...quoted(this.words[this.word].word), ","]), " looks at ",
      ...(order.length ? order.flatMap((number, place) =>
        [place ? ", " : "", ...quoted(this.words[number].word), ` ${percent(attention[number])}`]) : ["no word in particular"]),
      `. The start of the text and white space get ${percent(Math.max(0, rest))}.`);
  }
}

function quoted(word) {
  return ["“", el("bdi", {}, word), "”"];
}
