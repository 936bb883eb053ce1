// The steps of the desk: one is shown at a time. The state of the project is asked for again after each change.

import { byId, el } from "/page/dom.js";
import { asking } from "./asking.js";
import { classesOf, get, latest, others, person } from "./server.js";
import { labelling } from "./labelling.js";
import { mending } from "./mending.js";
import { opening } from "./opening.js";
import { texts } from "./texts.js";
import { training } from "./training.js";
import { using } from "./using.js";
import { why } from "./why.js";

const STEPS = [
  ["open", "Open", opening], ["label", "Label", labelling], ["texts", "Texts", texts],
  ["train", "Train", training], ["why", "See why", why], ["mend", "Mend", mending], ["use", "Use", using],
];
const LOOK_AGAIN = 1500; // milliseconds, while a model is trained

class Desk {
  constructor() {
    this.shows = 0;
    this.newest = latest();
    this.showing = Promise.resolve();
    this.asking = asking(this);
    this.rooms = Object.fromEntries(STEPS.map(([key, , room]) => [key, room(this)]));
    byId("steps").replaceChildren(...STEPS.map(([key, name]) => el("a", { href: `#${key}`, id: `step-${key}` }, name)));
    const look = () => this.state && this.refresh().then(() => this.room?.changed?.());
    others.addEventListener("message", look);
    addEventListener("focus", look); // another browser may have changed something
  }

  async begin() {
    await this.refresh();
    addEventListener("hashchange", () => this.show());
    this.show();
  }

  /** Asks for the state, and shows it in the step that is open. While a model is trained, asks again. */
  async refresh(state) {
    this.state = await this.newest(state ?? this.ask(() => get("/desk/state"), { aside: true })) ?? this.state;
    person.know(this.state);
    byId("table-name").textContent = this.state.table ?? "No table yet";
    byId("folder").textContent = this.state.project;
    document.title = `${this.state.table ?? "Desk"} · glassformer`;
    STEPS.slice(1).forEach(([key]) => byId(`step-${key}`).toggleAttribute("aria-disabled", !this.state.texts));
    clearTimeout(this.timer);
    if (this.state.running) this.timer = setTimeout(() => this.refresh(), LOOK_AGAIN);
    this.room?.update?.();
  }

  /** Whether the address asks for another step than the one on the screen, which keys are no longer meant for. */
  get leaving() {
    const asked = location.hash.slice(1);
    return asked in this.rooms && asked !== this.key;
  }

  /** Shows the step of the address, once the one before has done what it has to. Of several asked for meanwhile, the last. */
  show() {
    const number = ++this.shows;
    this.showing = this.showing.catch(() => {}).then(() => number === this.shows && this.draw());
  }

  async draw() {
    if (await this.room?.leave?.() === false) return history.replaceState(null, "", `#${this.key}`); // why is said there
    const asked = location.hash.slice(1), shown = this.key;
    // What was found is read first: once a label is given, the columns stay.
    const first = this.state.fixed ? "label" : "open";
    this.key = !this.state.texts ? "open" : !person.known ? "who" : asked in this.rooms ? asked : (asked && shown) || first; // or a place within the step
    if (asked in this.rooms && person.known && asked !== this.key) history.replaceState(null, "", `#${this.key}`); // so it can be asked for again
    if (this.key === shown) return undefined;
    this.room = this.rooms[this.key] ?? this.asking;
    STEPS.forEach(([name]) => byId(`step-${name}`).toggleAttribute("aria-current", name === this.key));
    this.say("");
    byId("room").replaceChildren(this.room.place);
    return void this.room.enter?.(); // another step need not wait for it
  }

  /**
   * Does what is asked of the server. A refusal is shown; then there is no result. What was said before is taken away, unless
   * the question comes from the page itself, beside what a person does: its answer may come at any time.
   */
  async ask(what, { aside = false } = {}) {
    const alone = "The desk does not answer: it was closed. Labels are kept; start it again.";
    if (!aside) this.say("");
    try {
      const found = await what();
      if (byId("alert").textContent === alone) this.say("");
      return found;
    } catch (error) {
      this.say(error.message || alone);
      return undefined;
    }
  }

  say(reason) {
    byId("alert").hidden = !reason;
    byId("alert").textContent = reason;
  }

  /** Writes a label. It may name several classes, or none, if texts get several. */
  labelOf(label) {
    if (this.state.panel !== "classes" || (label ?? null) === null) return label;
    return classesOf(label).join(", ") || "none";
  }

  /** Tells a screen reader what happened. */
  speak(said) {
    byId("spoken").textContent = said;
  }
}

new Desk().begin();
