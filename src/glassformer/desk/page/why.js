// What the model of the last round says of texts with a label that it had not learned. Each figure leads to its texts.

import { counted, el, percent, table } from "/page/dom.js";
import { line } from "./lines.js";
import { depthOf, get, lastRound, latest, me, nodeOf, once } from "./server.js";

const MOST_CLASSES = 12, SHOWN = 20; // of more classes, a table would be mostly zeros

export function why(desk) {
  const about = el("p", { className: "verdict" }), report = el("p", {}), confusion = el("div", {});
  const level = el("select", { id: "level" }), levels = el("p", { className: "naming" }, el("label", {}, "Compare at", level));
  const groups = el("div", {}), heading = el("h2", {}, "Worst errors"), worst = el("ol", { className: "near-texts" }), all = el("p", {});
  const errors = el("div", { className: "apart" }, heading, worst, all);
  const place = el("section", { "aria-label": "See why" }, about, report, levels, confusion, groups, errors);
  const newest = latest();
  let drawn, pairs = []; // the number of the round that is drawn, and its labels and answers

  /** A link to the step Texts that lists the texts that fit. */
  const leading = (words, look, name) => el("a", { href: "#texts", onclick: () => { desk.look = look; }, ...(name ? { "aria-label": name } : {}) }, words);

  async function enter() {
    drawn = lastRound(desk.state)?.number;
    const asked = me({ state: "wrong" });
    const [found, wrong] = await Promise.all([get(`/desk/unseen?${me()}`), get(`/desk/texts?${asked}`)].map((each) => desk.ask(() => each, { aside: true })));
    if (!found || !wrong) return;
    draw([found, wrong, drawn, desk.state.classes.map(({ name }) => name)]);
    drawGroups();
  }

  const draw = once(([found, wrong]) => {
    about.textContent = said(found);
    report.replaceChildren(...(drawn ? [el("a", { href: `/desk/report/${drawn}`, target: "_blank" }, `The report of round ${drawn}`), ": more figures, and groups of texts with many errors. Its row numbers are those of labels.csv in the project's folder, until the next round begins."] : []));
    ({ pairs } = found);
    offerLevels();
    redraw();
    if (found.by_class.length) confusion.replaceChildren(drawClasses(found.by_class));
    errors.hidden = !wrong.total;
    worst.replaceChildren(...wrong.texts.slice(0, SHOWN).map((text) => el("li", {}, ...line(desk, text, { alike: true }))));
    const [wrongOnes, first] = desk.state.task === "number" ? ["answer", "farthest off"] : ["wrong answer", desk.state.levels ? "farthest off" : "surest"];
    all.replaceChildren(...(wrong.total > SHOWN ? [leading(`All ${counted(wrong.total, wrongOnes)}, ${first} first`, { state: "wrong" })] : []));
  });

  function said({ texts, hidden, wrong, by_level: levels }) {
    if (!drawn) return "There is no model yet.";
    const more = hidden ? ` ${counted(hidden, "answer")} cannot be seen here, as suggestions or other people's labels are hidden from you.` : "";
    if (!texts && hidden) return more.trim();
    if (!texts) return "The model keeps no answers to texts that it had not learned. The next round will.";
    const numbers = desk.state.task === "number" ? "" : ` ${wrong.toLocaleString("en")} of them differ from the label.${levels ? ` Right at ${levels}.` : ""}`;
    return `Round ${drawn} answered ${counted(texts, "text")} with a label by models that had not learned them.${numbers}${more}`;
  }

  /** Groups of texts with more errors. They take longer than the counts, which do not wait for them. */
  async function drawGroups() {
    const found = await newest(desk.ask(() => get(`/desk/groups?${me()}`), { aside: true }));
    if (found) showGroups(found.groups);
  }

  const showGroups = once((found) => {
    const cells = ({ name, texts, wrong, wrong_of_rest: rest, words }) => [words === null ? name : leading(name, { state: "wrong", words }, `The wrong answers of ${name}`), texts.toLocaleString("en"), percent(wrong), percent(rest)];
    groups.replaceChildren(...(found.length ? [table("Where more answers are wrong than elsewhere, by more than chance explains.", ["texts", "how many", "wrong", "others wrong"], found.map(cells))] : []));
  });

  const offerLevels = () => {
    const deepest = depthOf(pairs.flatMap(({ label, answered }) => [label, answered]), desk.state.levels), chosen = level.options.length ? level.value : "1";
    levels.hidden = deepest < 2;
    const upper = Array.from({ length: deepest - 1 }, (_, above) => el("option", { value: above + 1 }, `level ${above + 1}`));
    level.replaceChildren(...upper, el("option", { value: "" }, "all levels"));
    level.value = [...level.options].some(({ value }) => value === chosen) ? chosen : level.options[0].value;
  };

  /** Draws the confusion at the level that is chosen. */
  function redraw() {
    const at = (name) => (level.value ? nodeOf(name, desk.state.levels, Number(level.value)) : name), cells = new Map();
    pairs.forEach(({ label, answered, texts }) => {
      const pair = { label: at(label), answered: at(answered) }, key = JSON.stringify(pair);
      cells.set(key, { ...pair, texts: texts + (cells.get(key)?.texts ?? 0) });
    });
    confusion.replaceChildren(...(cells.size ? drawConfusion([...cells.values()], at) : []));
  }

  /** How many texts of each label got each answer: as a table, or of many classes as a list of what is confused. */
  function drawConfusion(pairs, at) {
    const known = [...new Set(desk.state.classes.map(({ name }) => at(name)))], given = new Set(pairs.flatMap(({ label, answered }) => [label, answered]));
    const shown = (name) => (level.value && name.endsWith(desk.state.levels) ? name.slice(0, -desk.state.levels.length) : name);
    const names = [...known.filter((name) => given.has(name)), ...[...given].filter((name) => !known.includes(name))];
    const cell = ({ label, answered, texts }) => leading(texts.toLocaleString("en"), { state: "labelled", label, answered }, `${counted(texts, "text")} labelled ${shown(label)} and answered ${shown(answered)}`);
    const caption = "Labels in rows, answers in columns: how many texts. A number leads to its texts.";
    if (names.length <= MOST_CLASSES) {
      const cellOf = (label, answered) => {
        const pair = pairs.find((each) => each.label === label && each.answered === answered);
        return pair ? cell(pair) : "0";
      };
      return [table(caption, ["label", ...names.map(shown)], names.map((label) => [shown(label), ...names.map((answered) => cellOf(label, answered))]))];
    }
    const confused = pairs.filter(({ label, answered }) => label !== answered).toSorted((one, other) => other.texts - one.texts).slice(0, SHOWN);
    return [table("What is confused most often. A number leads to its texts.", ["label", "answer", "texts"], confused.map((pair) => [shown(pair.label), shown(pair.answered), cell(pair)]))];
  }

  /** Of several classes for each text: how often each was answered rightly, was missed, and was too much. */
  function drawClasses(all) {
    const cell = (texts, look, said) => (texts ? leading(texts.toLocaleString("en"), look, `${counted(texts, "text")} ${said}`) : "0");
    return table("How often each class was answered where the label has it, was missed, and was too much. A number leads to its texts.", ["class", "right", "missed", "too much"],
      all.map(({ name, right, missed, extra }) => [name, cell(right, { state: "labelled", label: name, answered: name }, `rightly answered ${name}`),
        cell(missed, { state: "missed", label: name }, `where ${name} was missed`), cell(extra, { state: "extra", answered: name }, `where ${name} was too much`)]));
  }

  level.addEventListener("change", redraw);
  return { place, enter, update: () => { if (lastRound(desk.state)?.number !== drawn) enter(); }, changed: enter };
}
