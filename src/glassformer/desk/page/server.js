// Questions to the desk. They are those of the model's page, and a few more.

import { get, post, reach, read } from "/page/server.js";

export { get, post };

export const send = async (path, body) => read(await reach(path, { method: "POST", body }));

export const remove = async (path) => read(await reach(path, { method: "DELETE" }));

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
};
