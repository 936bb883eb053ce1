// What to do with the model and the labels.

import { counted, el, percent } from "/page/dom.js";

export function using(desk) {
  const threshold = el("input", { type: "range", id: "threshold", min: 0, step: 1 });
  const wrong = el("input", { type: "number", id: "wrong", min: 0, step: "any", value: 10 }), human = el("input", { type: "number", id: "human", min: 0, step: "any", value: 1 });
  const least = el("span", {}), mistake = el("span", {});
  const outcome = el("p", { role: "status" }), best = el("p", { className: "soft" });
  const slider = el("div", {}, el("h2", {}, "Which answers a person should see"),
    el("p", { className: "naming" }, el("label", {}, least, threshold), el("label", {}, mistake, wrong), el("label", {}, "A person's look costs", human)),
    outcome, best);
  const done = el("div", {}), none = el("p", {}, "There is no model yet.");
  const place = el("section", { "aria-label": "Use" }, none, done, slider, el("p", {}, el("a", { href: "/desk/labels.csv" }, "Download the labelled texts (CSV)")));

  function update() {
    const last = desk.state.rounds.findLast(({ state }) => state === "done");
    none.hidden = Boolean(last);
    done.hidden = !last;
    if (!last) return;
    const folder = `${desk.state.project}/models/round-${String(last.number).padStart(4, "0")}`;
    const command = (said, ...parts) => [el("dt", {}, said), el("dd", {}, el("code", {}, parts.map((part) => (/[^\w./-]/.test(part) ? `'${part.replaceAll("'", "'\\''")}'` : part)).join(" ")))];
    done.replaceChildren(
      el("p", {}, el("a", { href: "/", target: "_blank" }, "Try the model, and answer a table"), ", which can be downloaded then."),
      el("p", {}, "The same as commands:"),
      el("dl", { className: "facts" },
        ...command("answer a table", "glassformer", "predict", folder, "--file", "TABLE", "--out", "answers.csv"),
        ...command("explain an answer", "glassformer", "explain", folder, "A text"),
        ...command("serve it", "glassformer", "serve", folder),
        ...command("export it", "glassformer", "export", folder, "--format", "onnx", "--out", "exported")));
  }

  /** What a threshold costs for 100 texts: mistakes of automatic answers, and a person's look at the others. */
  const cost = ({ reached, lost, of }) => 100 * (lost * wrong.value + (of - reached) * human.value) / of;

  function slide() {
    const lines = desk.state.automatic, line = lines[threshold.value];
    if (!line) return;
    threshold.setAttribute("aria-valuetext", percent(line.threshold));
    outcome.textContent = `From ${percent(line.threshold)}: ${percent(line.reached / line.of)} of texts are answered without a person. These answers are ${line.said}. 100 texts cost about ${cost(line).toFixed(0)}.`;
    const cheapest = lines.reduce((least, each) => (cost(each) < cost(least) ? each : least));
    best.textContent = `Measured on ${counted(line.of, "text")} drawn at random. The cheapest threshold is ${percent(cheapest.threshold)} (about ${cost(cheapest).toFixed(0)}); a person alone costs ${(100 * human.value).toLocaleString("en")} per 100 texts.`;
  }

  function measure() {
    const lines = desk.state.automatic;
    slider.hidden = !lines.length;
    least.textContent = `An automatic answer has at least this ${desk.state.sureness}`;
    mistake.textContent = desk.state.mistake;
    const before = threshold.max;
    threshold.max = lines.length - 1;
    if (before !== threshold.max) threshold.value = Math.floor(lines.length / 2);
    slide();
  }

  for (const input of [threshold, wrong, human]) input.addEventListener("input", slide);
  const all = () => { update(); measure(); };
  return { place, enter: all, update: all };
}
