// The right answer to what was typed, for the file that the server keeps.

import { el, nameOf } from "./dom.js";
import { perColumn } from "./fold.js";
import { Gone, post } from "./server.js";

export const drawFeedback = perColumn(() => new Feedback());

class Feedback {
  draw(state) {
    this.place ??= this.made(state.model);
    if (state.text !== this.state?.text) this.said.textContent = "";
    this.state = { ...state };
    return state.answer && state.answer.prediction !== null ? this.place : null;
  }

  made(model) {
    const field = fieldOf(model), group = el("input", { autocomplete: "off" });
    this.said = el("p", { className: "soft", role: "status" });
    const of = model.group ? el("label", {}, `Its group (${model.group}) `, group) : null;
    const form = el("form", {}, field.place, of, el("button", { type: "submit" }, "Keep"), this.said);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.keep(field.value(), group);
    });
    return el("details", {}, el("summary", {}, "Say the right answer"), el("div", { className: "inside" }, form));
  }

  /** `group`: the field of the group. It is emptied, as the next text may be of another one. */
  async keep(label, group) {
    const { model, text, onGone } = this.state;
    if (label === null) {
      this.said.textContent = model.target ? "Give a number, such as 3.5." : "Choose a label.";
      return;
    }
    try {
      await post("feedback", { text, label, model: model.name, group: group.value.trim() || null });
      group.value = "";
      this.said.textContent = "Kept, with the answer of the model.";
    } catch (error) {
      if (error instanceof Gone) onGone();
      else this.said.textContent = error.message;
    }
  }
}

/** What the right answer is given in: { place, value() }, whose value is null if there is none. */
function fieldOf({ name, target, labels, multilabel }) {
  if (target) {
    const input = el("input", { inputMode: "decimal", autocomplete: "off" });
    const value = () => (input.value.trim() && Number.isFinite(Number(input.value)) ? Number(input.value) : null);
    return { place: el("label", {}, `Right ${target} `, input), value };
  }
  if (multilabel) {
    const boxes = labels.map(() => el("input", { type: "checkbox" }));
    const named = boxes.map((box, number) => el("label", { dir: "auto" }, box, ` ${nameOf(labels[number])}`));
    return {
      place: el("fieldset", {}, el("legend", { className: "unseen" }, `Right labels for ${name}`), ...named),
      value: () => labels.filter((_, number) => boxes[number].checked),
    };
  }
  const choice = el("select", {}, el("option", { value: "" }, "choose"), ...labels.map((label, number) => el("option", { value: number }, nameOf(label))));
  return { place: el("label", {}, "Right label ", choice), value: () => (choice.value ? labels[choice.value] : null) };
}
