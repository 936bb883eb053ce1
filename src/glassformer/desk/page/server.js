// Questions to the desk. They are those of the model's page, and a few more.

import { get, post as ask, reach, read } from "/page/server.js";

export { ask, get };

/** The other tabs of this browser. They are told of each change. */
export const others = new BroadcastChannel("glassformer-desk");

async function change(asking) {
  const found = await asking;
  others.postMessage("changed");
  return found;
}

export const post = (path, body) => change(ask(path, body));

export const send = (path, body) => change(reach(path, { method: "POST", body }).then(read));

export const remove = (path) => change(reach(path, { method: "DELETE" }).then(read));

export const classesOf = (label) => (label ? label.split("|") : []);

/** A class down to a level. Of one that goes on there, or ends there, it ends with what separates levels: all classes below. */
export function nodeOf(name, between, depth) {
  const path = name.split(between);
  return path.length < depth ? name : path.slice(0, depth).join(between) + between;
}

/** How many levels the deepest class has. */
export const depthOf = (names, between) => Math.max(1, ...names.map((name) => (between ? name.split(between).length : 1)));

/** Each class, below the levels that it stands in: these mean all classes below. */
export function withLevels(names, between) {
  const above = (name) => Array.from({ length: depthOf([name], between) - 1 }, (_, place) => nodeOf(name, between, place + 1));
  return [...new Set(names.flatMap((name) => [...above(name), name]))];
}

/** The last round that brought a model. */
export const lastRound = ({ rounds }) => rounds.findLast(({ state }) => state === "done");

/** Returns a function that draws what it is given, unless it drew the same before: a focus or a choice would be lost. */
export function once(draw) {
  let before;
  return (given) => {
    const now = JSON.stringify(given);
    if (now !== before) draw(given);
    before = now;
  };
}

/** Returns a function that waits for an answer. If something else was asked for meanwhile, there is none. */
export function latest() {
  let asked = 0;
  return async (asking) => {
    const number = ++asked, found = await asking;
    return number === asked ? found : undefined;
  };
}

const NAME = "glassformer-person";

/** Who labels, in this tab. The project knows who has labelled, and who hides suggestions: a browser forgets it with the port. */
export const person = {
  people: [],
  blindOnes: [],
  telling: 0,
  told: Promise.resolve(),
  /** Takes what the project knows. A new tab is that of its only person. */
  know({ people, blind }) {
    this.people = people;
    if (!this.telling) this.blindOnes = blind;
    if (!this.known && people.length < 2) sessionStorage.setItem(NAME, people[0] ?? "me");
  },
  /** Whether it is clear who labels. */
  get known() {
    return sessionStorage.getItem(NAME) !== null;
  },
  get name() {
    return sessionStorage.getItem(NAME) ?? "me";
  },
  /** Whether suggestions are hidden. */
  get blind() {
    return this.blindOnes.includes(this.name);
  },
  /** Goes on as somebody, and hides suggestions or not. Returns whether the project knows it: what is pressed meanwhile counts already. */
  async take(name, desk, blind = undefined) {
    sessionStorage.setItem(NAME, name.trim() || "me");
    if (blind !== undefined) this.blindOnes = [...this.blindOnes.filter((each) => each !== this.name), ...(blind ? [this.name] : [])];
    const { viewer } = this;
    this.telling += 1;
    this.told = this.told.then(() => desk.ask(() => post("/desk/people", viewer))); // one after the other
    const state = await this.told;
    this.telling -= 1;
    if (state) await desk.refresh(state);
    return Boolean(state);
  },
  /** Who asks for texts: what others decided about them may have to stay unknown. */
  get viewer() {
    return { who: this.name, blind: this.blind };
  },
};

/** The query of the viewer and more. */
export const me = (more = {}) => new URLSearchParams({ ...person.viewer, ...more });
