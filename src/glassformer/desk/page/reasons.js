// What the model suggests for the text on the screen, and the words that speak for it and against it.

import { chance, el } from "/page/dom.js";
import { surePath } from "/page/answer.js";
import { appendWords, colour } from "/page/marked.js";
import { ask } from "./server.js";

const LONGEST_EXPLAINED = 5000;

/** `text`: where the text stands. `beside`: where its other columns do. */
export function reasoning(desk, text, beside) {
  let shown = null; // the text that is asked about
  const suggestion = el("p", { className: "suggestion", hidden: true });
  const sure = el("div", {}); // how far down a path the model is sure
  const legend = el("p", { className: "legend", hidden: true });

  /** Shows what the model suggests, with its reasons. Of texts that measure the model or other people, it is hidden. */
  async function show(found) {
    shown = found;
    suggestion.hidden = !found.shown;
    legend.hidden = true;
    sure.replaceChildren();
    if (!found.shown) return;
    suggestion.textContent = `Suggested: ${desk.labelOf(found.suggested)}${found.probability === null || desk.state.task === "number" ? "" : ` (${chance(found.probability)})`}`;
    if (found.text.length > LONGEST_EXPLAINED) return;
    const first = desk.state.text, row = found.beside ? { [first]: found.text, ...found.beside } : found.text;
    if (desk.state.levels) ask("/predict", { texts: [row] }).then(({ answers }) => { if (shown === found && answers[0].path !== found.suggested) sure.replaceChildren(surePath(answers[0]) ?? ""); }, () => {});
    const reasons = await ask("/explain", { text: row }).catch(() => null);
    if (shown !== found || !reasons?.words.length) return;
    paint(text, found.text, reasons, first);
    const sides = desk.state.task === "number" ? ["raises the number", "lowers it"] : ["speaks for it", "speaks against it"];
    legend.replaceChildren(el("span", { className: "key for" }, sides[0]), " ", el("span", { className: "key against" }, sides[1]), ...(reasons.rules ?? []).map(({ rule, effect }) => ` · ${rule}: ${effect}`));
    legend.hidden = false;
    desk.state.other_texts.forEach((name) => paint(beside.querySelector(`[data-of="${CSS.escape(name)}"]`), found.beside?.[name] ?? "", reasons, name));
  }

  return { place: [suggestion, sure, legend], show };
}

/** Colours the words of a text by what they add. `name`: its column, if several are read. */
function paint(place, given, reasons, name) {
  const begin = reasons.text.indexOf(given), before = Array.from(reasons.text.slice(0, begin)).length;
  if (begin < 0) return;
  const most = Math.max(...reasons.words.map(({ total }) => Math.abs(total)), 1e-9);
  const words = reasons.words.filter(({ input = name }) => input === name)
    .map((word) => ({ ...word, start: word.start - before, end: word.end - before }));
  place.replaceChildren();
  appendWords(place, given, words).forEach((word, number) => {
    word.removeAttribute("role");
    word.removeAttribute("tabindex");
    colour(word, words[number].total / most);
  });
}
