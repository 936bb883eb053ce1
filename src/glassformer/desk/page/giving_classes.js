// Several classes for each text, or none: the keys 1 to 9 mark and unmark them, Enter confirms.

import { el } from "/page/dom.js";
import { classList } from "./giving_class.js";
import { classesOf } from "./server.js";

export function giving(desk, decide) {
  const marked = new Set();
  const list = classList(desk, toggle, { isPressed: (name) => marked.has(name) });
  const confirm = el("button", { type: "button", onclick: () => give() }, "Confirm Enter"), none = el("button", { type: "button", onclick: () => decide("") }, "None of them 0");

  /** A new class stands among the others as soon as it is marked. */
  function keepNew() {
    const known = new Set(desk.state.classes.map(({ name }) => name));
    desk.state.classes.push(...[...marked].filter((name) => !known.has(name)).map((name) => ({ name, texts: 0 })));
  }

  function toggle(name) {
    if (name.includes("|")) return desk.say("A class cannot hold |, which stands between classes. Mark one after the other.");
    if (!marked.delete(name)) marked.add(name);
    keepNew();
    desk.speak(`${name}: ${marked.has(name) ? "marked" : "not marked"}.`);
    list.clear();
    return list.input.focus();
  }

  function give() {
    if (marked.size) decide([...marked].join("|"));
    else desk.say("No class is marked. Mark some, or press 0 if none of them fits.");
  }

  return {
    ...list,
    place: [...list.place, el("p", {}, confirm, " ", none)],
    keys: "1–9: mark or unmark that class. Type and Enter: mark a class by its name, or a new one. Enter: confirm the marked ones. 0: none of them. → skip, ? unsure, - leave out, + note, ← undo.",
    show(found) {
      marked.clear();
      const suggested = found?.shown ? classesOf(found.suggested) : [];
      (found?.kind === "label" ? classesOf(found.label) : suggested).forEach((name) => marked.add(name));
      list.clear(suggested);
    },
    update() {
      keepNew();
      list.update(desk.state.classes);
    },
    onKey(event) {
      if (list.onKey(event)) return true;
      if (event.key === "0" && !list.input.value) decide("");
      else if (event.key === "Enter") { if (!list.input.value) give(); } else return false;
      return true;
    },
  };
}
