// What to do with the model and the labels.

import { counted, el, percent } from "/page/dom.js";
import { typed } from "./commands.js";
import { lastRound, once, post } from "./server.js";

export function using(desk) {
  const threshold = el("input", { type: "range", id: "threshold", min: 0, step: 1 });
  const wrong = el("input", { type: "number", id: "wrong", min: 0, max: 1e9, step: "any", value: 10 }), human = el("input", { type: "number", id: "human", min: 0, max: 1e9, step: "any", value: 1 });
  const least = el("span", {}), mistake = el("span", {});
  const outcome = el("p", { role: "status" }), best = el("p", { className: "soft" }), kept = el("p", {});
  const slider = el("div", {}, el("h2", {}, "Which answers a person should see"),
    el("p", { className: "naming" }, el("label", {}, least, threshold), el("label", {}, mistake, wrong), el("label", {}, "A person's look costs", human)),
    outcome, best, kept);
  const done = el("div", {}), none = el("p", {}, "There is no model yet.");
  const place = el("section", { "aria-label": "Use" }, none, done, slider, el("p", {}, el("a", { href: "/desk/labelled" }, "Download the labelled texts")));

  function update() {
    const last = lastRound(desk.state);
    none.hidden = Boolean(last);
    done.hidden = !last;
    if (!last) return;
    const { task, automatic_share: share, marks, review } = desk.state;
    const because = task === "number" ? ` In the answers of the command above, that is an unseen_share above ${percent(1 - review.threshold)}.`
      : " No answer to held-out rows is so sure, so there is no command for it.";
    kept.textContent = marks ? `The answers of the desk, ${share === null ? "and" : "the command above, and"} the table that it answers, say needs_review below ${percent(review.threshold)}.${share === null ? because : ` ${percent(share)} of held-out rows are at least this sure, so --automatic ${share} asks for the same.`}`
      : review.threshold === 0 ? "" : `Move the slider: the answers of the desk${task === "number" ? "" : " and the command above"} then mark what a person should see.`;
    drawUses([`${desk.state.project}/models/round-${String(last.number).padStart(4, "0")}`, share === null ? [] : ["--automatic", String(share)], Boolean(desk.state.levels)]);
  }

  const drawUses = once(([folder, automatic, levels]) => {
    const command = (said, ...parts) => [el("dt", {}, said), el("dd", {}, typed(...parts))];
    done.replaceChildren(
      el("p", {}, el("a", { href: "/", target: "_blank" }, "Try the model, and answer a table"), ", which can be downloaded then.", levels ? " The column path of an answer ends where the model is not sure any more." : ""),
      el("p", {}, "The same as commands:"),
      el("dl", { className: "facts" },
        ...command("answer a table", "glassformer", "predict", folder, "--file", "TABLE", "--out", "answers.csv", ...automatic),
        ...command("explain an answer", "glassformer", "explain", folder, "A text"),
        ...command("serve it", "glassformer", "serve", folder),
        ...command("export it", "glassformer", "export", folder, "--format", "onnx", "--out", "exported")));
  });

  /** What a threshold costs for 100 texts: mistakes of automatic answers, and a person's look at the others. */
  const cost = ({ reached, of }, lost) => 100 * (lost * wrong.value + (of - reached) * human.value) / of;
  const likely = (line) => (line.most === null ? "" : `, likely ${cost(line, line.least).toFixed(0)} to ${cost(line, line.most).toFixed(0)}`);

  function slide() {
    const lines = desk.state.automatic, line = lines[threshold.value];
    if (!line) return;
    threshold.setAttribute("aria-valuetext", percent(line.threshold));
    outcome.textContent = `From ${percent(line.threshold)}: ${percent(line.reached / line.of)} of texts are answered without a person. These answers are ${line.said}. 100 texts cost about ${cost(line, line.lost).toFixed(0)}${likely(line)}.`;
    const cheapest = lines.reduce((least, each) => (cost(each, each.lost) < cost(least, least.lost) ? each : least)), alone = 100 * human.value;
    const told = cheapest.most !== null && cost(cheapest, cheapest.most) < alone, never = lines.every((each) => each.least !== null && cost(each, each.least) >= alone);
    best.textContent = `Measured on ${counted(line.of, "text")} drawn at random. A person alone costs ${alone.toLocaleString("en")} per 100 texts. ${told
      ? `The cheapest threshold is ${percent(cheapest.threshold)} (about ${cost(cheapest, cheapest.lost).toFixed(0)}${likely(cheapest)}).` : never ? "A person alone is cheaper than any threshold." : "There are too few texts to tell which threshold is cheapest."}`;
  }

  function measure() {
    const lines = desk.state.automatic;
    slider.hidden = !lines.length;
    least.textContent = `An automatic answer has at least this ${desk.state.sureness}`;
    mistake.textContent = desk.state.mistake;
    threshold.max = lines.length - 1;
    choose([desk.state.review, lines.length]);
    slide();
  }

  /** Takes what was chosen before, on this page or another one. */
  const choose = once(([{ threshold: least, wrong: mistakes, human: look }, steps]) => {
    const at = desk.state.automatic.findLastIndex((line) => line.threshold <= least);
    threshold.value = least === null ? Math.floor(steps / 2) : Math.max(0, at);
    wrong.value = mistakes ?? wrong.value;
    human.value = look ?? human.value;
  });

  async function keep(chosen) {
    const state = await desk.ask(() => post("/desk/settings", chosen));
    if (state) desk.refresh(state);
  }

  for (const input of [threshold, wrong, human]) input.addEventListener("input", slide);
  threshold.addEventListener("change", () => keep({ threshold: desk.state.automatic[threshold.value].threshold }));
  for (const input of [wrong, human]) input.addEventListener("change", () => { if (input.value && input.validity.valid) keep({ [input.id]: Number(input.value) }); });
  const all = () => { update(); measure(); };
  return { place, enter: all, update: all };
}
