// What the model of the last round says of texts with a label that it had not learned. Each figure leads to its texts.

import { counted, el, table } from "/page/dom.js";
import { line } from "./lines.js";
import { get, me } from "./server.js";

const MOST_CLASSES = 12, SHOWN = 20; // of more classes, a table would be mostly zeros

export function why(desk) {
  const about = el("p", { className: "verdict" }), report = el("p", {}), confusion = el("div", {});
  const heading = el("h2", {}, "Worst errors"), worst = el("ol", { className: "near-texts" }), all = el("p", {});
  const errors = el("div", { className: "apart" }, heading, worst, all);
  const place = el("section", { "aria-label": "See why" }, about, report, confusion, errors);
  let drawn; // the number of the round that is drawn

  const lastRound = () => desk.state.rounds.findLast(({ state }) => state === "done");

  /** A link to the step Texts that lists the texts that fit. */
  const leading = (words, look, name) => el("a", { href: "#texts", onclick: () => { desk.look = look; }, ...(name ? { "aria-label": name } : {}) }, words);

  async function enter() {
    drawn = lastRound()?.number;
    const asked = me({ state: "wrong" });
    const [found, wrong] = await Promise.all([get(`/desk/unseen?${me()}`), get(`/desk/texts?${asked}`)].map((each) => desk.ask(() => each, { aside: true })));
    if (!found || !wrong) return;
    about.textContent = said(found);
    report.replaceChildren(...(drawn ? [el("a", { href: `/desk/report/${drawn}`, target: "_blank" }, `The report of round ${drawn}`), ": more figures, and groups of texts with many errors. Its rows are those of labels.csv."] : []));
    confusion.replaceChildren(...(found.pairs.length ? drawConfusion(found.pairs) : []));
    errors.hidden = !wrong.total;
    worst.replaceChildren(...wrong.texts.slice(0, SHOWN).map((text) => el("li", {}, ...line(desk, text, { alike: true }))));
    all.replaceChildren(...(wrong.total > SHOWN ? [leading(desk.state.task === "number" ? `All ${counted(wrong.total, "answer")}, farthest off first` : `All ${counted(wrong.total, "wrong answer")}, surest first`, { state: "wrong" })] : []));
  }

  function said({ texts, hidden, wrong }) {
    if (!drawn) return "There is no model yet.";
    const more = hidden ? ` ${counted(hidden, "answer")} cannot be seen here, as suggestions or other people's labels are hidden from you.` : "";
    if (!texts && hidden) return more.trim();
    if (!texts) return "The model keeps no answers to texts that it had not learned. The next round will.";
    const numbers = desk.state.task === "number" ? "" : ` ${wrong.toLocaleString("en")} of them differ from the label.`;
    return `Round ${drawn} answered ${counted(texts, "text")} with a label by models that had not learned them.${numbers}${more}`;
  }

  /** How many texts of each label got each answer: as a table, or of many classes as a list of what is confused. */
  function drawConfusion(pairs) {
    const known = desk.state.classes.map(({ name }) => name), given = new Set(pairs.flatMap(({ label, answered }) => [label, answered]));
    const names = [...known.filter((name) => given.has(name)), ...[...given].filter((name) => !known.includes(name))];
    const cell = ({ label, answered, texts }) => leading(texts.toLocaleString("en"), { state: "labelled", label, answered }, `${counted(texts, "text")} labelled ${label} and answered ${answered}`);
    const caption = "Labels in rows, answers in columns: how many texts. A number leads to its texts.";
    if (names.length <= MOST_CLASSES) {
      const at = (label, answered) => pairs.find((pair) => pair.label === label && pair.answered === answered);
      return [table(caption, ["label", ...names], names.map((label) => [label, ...names.map((answered) => { const pair = at(label, answered); return pair ? cell(pair) : "0"; })]))];
    }
    const confused = pairs.filter(({ label, answered }) => label !== answered).toSorted((one, other) => other.texts - one.texts).slice(0, SHOWN);
    return [table("What is confused most often. A number leads to its texts.", ["label", "answer", "texts"], confused.map((pair) => [pair.label, pair.answered, cell(pair)]))];
  }

  return { place, enter, update: () => { if (lastRound()?.number !== drawn) enter(); }, changed: enter };
}
