// A fold that asks the server about an answer, and only while it is open: what is typed is answered first.

import { el } from "./dom.js";
import { Latest } from "./latest.js";
import { Gone } from "./server.js";

/** Makes a part of the page that lasts: one for each column, as each has a state of its own. */
export function perColumn(make) {
  const parts = new WeakMap();
  return (state) => {
    if (!parts.has(state)) parts.set(state, make());
    return parts.get(state).draw(state);
  };
}

export class Fold {
  /** `ask(state)` returns what the server says, and `show(found, state)` the element for it. */
  constructor(title, { ask, show }) {
    this.inside = el("div", { className: "inside" });
    this.place = el("details", {}, el("summary", {}, title), this.inside);
    this.place.addEventListener("toggle", () => this.fill());
    this.answers = new Latest(
      () => ask(this.state),
      (reasons, found) => { if (reasons === this.reasons) this.put(show(found, this.state)); },
      (reasons, error) => {
        if (error instanceof Gone) this.state.onGone();
        else this.put(el("p", {}, error.message));
      });
  }

  draw(state) {
    this.state = state;
    if (!state.reasons) return null;
    if (state.reasons !== this.reasons) {
      this.reasons = state.reasons;
      this.asked = false;
    }
    this.fill();
    return this.place;
  }

  fill() {
    if (!this.place.open || this.asked) return;
    this.asked = true;
    this.inside.setAttribute("aria-busy", "true");
    if (!this.inside.hasChildNodes()) this.inside.append(el("p", { className: "soft" }, "Asking the model …"));
    this.answers.want(this.reasons);
  }

  put(element) {
    this.inside.removeAttribute("aria-busy");
    this.inside.replaceChildren(element);
  }
}
