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

/** Writes a label that may name several classes, or none. */
export const labelOf = (label) => (label === "" ? "none" : label?.replaceAll("|", ", "));

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

/** Who labels, on this browser. */
export const person = {
  get name() {
    return localStorage.getItem("glassformer-person") || "me";
  },
  set name(name) {
    localStorage.setItem("glassformer-person", name.trim() || "me");
  },
  /** Whether suggestions are hidden. */
  get blind() {
    return localStorage.getItem("glassformer-blind") === "yes";
  },
  set blind(blind) {
    localStorage.setItem("glassformer-blind", blind ? "yes" : "no");
  },
  /** Who asks for texts: what others decided about them may have to stay unknown. */
  get viewer() {
    return { who: this.name, blind: this.blind };
  },
};

/** The query of the viewer and more. */
export const me = (more = {}) => new URLSearchParams({ ...person.viewer, ...more });
