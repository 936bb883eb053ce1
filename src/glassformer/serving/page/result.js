// The answers to a table: how often each label was given, the first rows, what was measured, and a file to keep.

import { chance, counted, el, short, shortened, table } from "./dom.js";

const ENDS = 120; // characters of either end of a long text

const share = (value) => value.toFixed(3).replace(/^(-?)0/, "$1").replace("-", "−");
const interval = ({ low, high }) => `${share(low)} to ${share(high)}`;

export function drawResult(result, { onBaselines, baselines, onText }) {
  const several = result.answers.length > 1;
  const more = !baselines && result.measured.length;
  return el("div", {},
    el("h3", {}, `${result.name}: ${counted(result.rows, "row")}`),
    result.comparison ? el("p", { className: "comparison" }, result.comparison) : null,
    el("div", { className: several ? "two" : "" }, ...result.answers.map((answers) => drawModel(result, answers, several))),
    more ? el("p", {}, el("button", { type: "button", onclick: onBaselines },
      `Compare with TF-IDF + ${result.measured[0].contestants[0].r2 ? "ridge" : "logistic"} regression`)) : null,
    firstRows(result, onText));
}

function drawModel(result, answers, several) {
  const figures = result.measured.find(({ model }) => model === answers.model);
  const missing = result.not_measured[answers.model];
  return el("div", { className: "of-model" },
    several ? el("h4", {}, answers.model) : null,
    figures ? drawFigures(figures) : null,
    drawCounts(answers, result.rows),
    missing ? el("p", { className: "soft" }, `Not measured: ${missing}`) : null,
    el("p", {}, download(result.name, answers)));
}

function drawCounts({ counts, unanswered }, rows) {
  const bars = Object.entries(counts).slice(0, 8).map(([label, count]) => {
    const bar = el("span", { className: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", count / rows);
    return el("li", {}, el("span", { className: "name", dir: "auto" }, label), bar,
      el("span", { className: "value" }, count.toLocaleString("en")));
  });
  const more = Object.keys(counts).length - bars.length;
  const notes = [
    more > 0 && `${counted(more, "more label")}.`,
    unanswered && `${counted(unanswered, "empty text")} without an answer.`,
  ].filter(Boolean);
  const list = bars.length ? el("ul", { className: "bars", "aria-label": "How often each label was given" }, ...bars) : null;
  return el("div", {}, list,
    notes.length ? el("p", { className: "soft" }, notes.join(" ")) : null);
}

/** The columns of a table of contestants: a name, and how the figure is written. The first one leads. */
const LABELS = [["accuracy", ({ accuracy }) => share(accuracy.value)], ["95% interval", ({ accuracy }) => interval(accuracy)],
  ["macro F1", ({ macro_f1: f1 }) => share(f1.value)], ["log loss", ({ log_loss: loss }) => share(loss)]];
const NUMBERS = [["R²", ({ r2 }) => share(r2.value)], ["95% interval", ({ r2 }) => interval(r2)],
  ["mean absolute error", ({ mean_absolute_error: error }) => short(error.value)]];

function drawFigures(figures) {
  const ours = figures.contestants.at(-1), columns = ours.r2 ? NUMBERS : LABELS;
  const rows = figures.contestants.map((each) => [each.name, ...columns.map(([, written]) => written(each))]);
  const said = [...figures.sentences, figures.baseline_missing].filter(Boolean);
  return el("div", { className: "figures-of-table" },
    el("p", { className: "label" }, rows.at(-1)[1], " ", el("span", { className: "confidence" }, columns[0][0])),
    el("p", { className: "soft" }, `95% interval ${rows.at(-1)[2]}, ${counted(figures.rows, "row")} with a ${ours.r2 ? "number" : "label"}`),
    rows.length > 1 ? table("All were measured on the same rows", ["answers", ...columns.map(([name]) => name)], rows) : null,
    ...said.map((sentence) => el("p", {}, sentence)),
    figures.notes.length
      ? el("ul", { className: "soft notes" }, ...figures.notes.map((note) => el("li", {}, note))) : null);
}

function firstRows(result, onText) {
  const rows = result.first_texts.map((text, number) => [
    String(number + 1),
    ...result.answers.map(({ first }) => inWords(first[number])),
    el("button", { type: "button", className: "text", dir: "auto", disabled: !text.trim(), onclick: () => onText(result.first_rows?.[number] ?? text) },
      shortened(text, ENDS)),
  ]);
  const heads = result.answers.length > 1 ? result.answers.map(({ model }) => model) : ["answer"];
  const caption = `${rows.length < result.rows ? "The first rows" : "All rows"}. Click a text to look into its answer`;
  const drawn = table(caption, ["row", ...heads, "text"], rows);
  drawn.classList.add("first-rows");
  return drawn;
}

/** A label with its confidence, or a number with its interval. */
function inWords({ prediction, confidence, interval_low: low, interval_high: high }) {
  if (prediction === null) return "no answer";
  if (confidence !== undefined) return `${prediction} ${chance(confidence)}`;
  return low === null ? short(prediction) : `${short(prediction)} (${short(low)} to ${short(high)})`;
}

function download(name, { model, csv }) {
  const file = new Blob(["\ufeff", csv], { type: "text/csv" }); // the mark of UTF-8, without which Excel reads another encoding
  const link = el("a", {
    href: URL.createObjectURL(file), className: "download",
    download: `${name.replace(/\.[^.]+$/, "")}-${model.replace(/[^\w.-]+/g, "-")}.csv`,
  }, "Download the answers (CSV)");
  return link;
}
