// The rounds of training: what runs, how good each model is, and what more labels would bring.

import { el, table } from "/page/dom.js";
import { awaited, howGood } from "./lines.js";
import { ruling } from "./rules.js";
import { lastRound, once, post, remove } from "./server.js";

const CAPTION = "Random texts: labelled after that round's model answered them. Held-out labels: answered by a counting model that learned from the other labels. Texts that a model chose are harder than random ones.";

export function training(desk) {
  const advice = el("p", { className: "verdict" }), running = el("p", { role: "status" });
  const begin = el("button", { type: "button" }, "Train now"), stop = el("button", { type: "button" }, "Stop");
  const notes = el("ul", { className: "notes" }), chart = el("figure", { className: "chart" }), rounds = el("div", {});
  const command = el("code", {}), byHand = el("p", { className: "soft" }, "To train the next round by hand, on the labels of the last one: ", command);
  const rules = ruling(desk);
  const place = el("section", { "aria-label": "Train" }, advice, notes, el("p", {}, begin, " ", stop), running, rules.place, chart, rounds, byHand);

  function update() {
    const { state } = desk;
    begin.disabled = Boolean(state.missing) || Boolean(state.running);
    stop.hidden = !state.running;
    running.textContent = state.running?.said ?? "";
    advice.textContent = said(state);
    notes.replaceChildren(...state.class_notes.map((note) => el("li", {}, note)));
    byHand.hidden = !state.rounds.length; // there are no labels of a round yet
    drawCommand(state.command);
    draw(state.chart);
    rules.update();
    drawRounds(state.rounds);
  }

  const drawCommand = once((line) => { command.textContent = line; });
  const drawRounds = once((all) => rounds.replaceChildren(...(all.length ? [tableOf(all)] : [])));

  /** Draws the curve of the rounds, and of what more labels should bring. */
  const draw = once((drawn) => {
    chart.hidden = !drawn;
    chart.replaceChildren(...new DOMParser().parseFromString(drawn ?? "", "text/html").body.children, el("figcaption", { className: "soft" }, CAPTION));
  });

  /** What a person should do next. */
  function said(state) {
    const { missing, rounds: all, swayed, left } = state;
    if (missing) return awaited(state);
    const later = left ? "How good the model is shows once texts drawn at random have been labelled after the first round."
      : `Every text is decided, so none is left to measure the model by.${lastRound(state) ? " See why counts what models answered that had not learned the text." : ""}`;
    const learned = all.findLast(({ more: found }) => found)?.more, more = left && learned ? ` ${learned}.` : "";
    const sway = swayed ? ` By your labels, suggestions that you saw are ${swayed.shown}, and hidden ones ${swayed.hidden}.` : "";
    return (howGood(state) || later) + more + sway;
  }

  function tableOf(all) {
    const row = ({ number, state, labels, seconds, reason, measured }) => [
      String(number), labels.toLocaleString("en"), state === "done" ? el("a", { href: `/desk/report/${number}`, target: "_blank" }, "report") : state + (reason ? `: ${reason}` : ""),
      measured ?? "–",
      seconds === undefined ? "" : `${Math.round(seconds)} s`,
    ];
    return table("Rounds, and how good each model is on random texts labelled since (number of texts)",
      ["round", "labels", "model", "how good", "took"], all.toReversed().map(row));
  }

  begin.addEventListener("click", async () => {
    if (!await rules.keep()) return;
    const state = await desk.ask(() => post("/desk/rounds", {}));
    if (state) desk.refresh(state);
  });
  stop.addEventListener("click", async () => { const state = await desk.ask(() => remove("/desk/rounds")); if (state) desk.refresh(state); });
  return { place, enter: () => desk.refresh(), update };
}
