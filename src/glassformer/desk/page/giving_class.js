// One class for each text: under the keys 1 to 9, or typed.

import { el } from "/page/dom.js";
import { once } from "./server.js";

const SHOWN = 50;

/** How many letters must be added, left out or changed to make one word of another. */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 0; at < one.length; at += 1) {
    const next = [at + 1];
    row.slice(1).forEach((above, place) => next.push(Math.min(above + 1, next[place] + 1, row[place] + (one[at] !== other[place]))));
    row = next;
  }
  return row.at(-1);
}

/** The name that a new one may be a misspelling of: one letter in four may be wrong, but no digit. */
export function misspelled(wanted, names) {
  const digits = (name) => name.replace(/\D/g, "");
  const off = (name) => distance(wanted.toLowerCase(), name.toLowerCase());
  const near = names.filter((name) => digits(name) === digits(wanted) && off(name) <= Math.max(name.length, wanted.length) / 4);
  return near.sort((one, other) => off(one) - off(other))[0];
}

/** A field for the name of a class, and the classes that fit what is typed. `choose` is called with a class. */
export function classList(desk, choose, { isPressed } = {}) {
  const input = el("input", { id: "typed", type: "text", autocomplete: "off", spellcheck: false, "aria-describedby": "keys" });
  const list = el("ol", { className: "classes", "aria-label": "Classes" });
  let offered = [], suggested = [], near, doubted; // the class that may be meant, and the name for which that was said

  /** The classes that begin with what is typed, then those that hold it. */
  function offer() {
    const wanted = input.value.trim().toLowerCase(), all = desk.state.classes.map(({ name }) => name);
    const begins = (name) => name.toLowerCase().startsWith(wanted);
    offered = [...all.filter(begins), ...all.filter((name) => name.toLowerCase().includes(wanted) && !begins(name))];
    const texts = new Map(desk.state.classes.map((each) => [each.name, each.texts]));
    const items = offered.slice(0, SHOWN).map((name, number) => el("li", {}, el("button",
      { type: "button", className: suggested.includes(name) ? "suggested" : "", onclick: () => choose(name), ...(isPressed ? { "aria-pressed": String(isPressed(name)) } : {}) },
      number < 9 && !wanted ? el("kbd", {}, String(number + 1)) : null, ` ${name}`, el("small", {}, ` ${texts.get(name).toLocaleString("en")}`))));
    near = undefined;
    if (wanted && !all.some((name) => name.toLowerCase() === wanted)) {
      near = misspelled(wanted, all);
      if (near && !offered.includes(near)) items.push(el("li", {}, el("button", { type: "button", onclick: () => choose(near) }, `Did you mean ${near}?`)));
      items.push(el("li", {}, el("button", { type: "button", className: "new", onclick: () => choose(input.value.trim()) }, `New class: ${input.value.trim()}`)));
    }
    list.replaceChildren(...items);
  }

  /** The class that is typed: by its whole name, or the only one that begins so. Otherwise it is a new one. */
  function typed() {
    const wanted = input.value.trim(), low = wanted.toLowerCase();
    const same = offered.find((name) => name.toLowerCase() === low), begin = offered.filter((name) => name.toLowerCase().startsWith(low));
    if (same || begin.length) return same ?? (begin.length > 1 ? undefined : begin[0]);
    if (!near || doubted === wanted) return wanted;
    doubted = wanted;
    desk.say(`Did you mean ${near}? Press Enter again to make the new class ${wanted}.`);
    return undefined;
  }

  /** Takes a digit, or Enter after a name. */
  function onKey({ key }) {
    const chosen = !input.value && /^[1-9]$/.test(key) ? offered[key - 1] : input.value.trim() && key === "Enter" ? typed() : undefined;
    if (chosen !== undefined) choose(chosen);
    return chosen !== undefined || (!input.value && /^[1-9]$/.test(key));
  }

  function clear(names = suggested) {
    suggested = names;
    doubted = undefined;
    input.value = "";
    offer();
  }

  input.addEventListener("input", offer);
  return { input, place: [el("label", { for: "typed" }, "Class"), input, list], onKey, clear, offer, update: once(offer) };
}

export function giving(desk, decide) {
  const list = classList(desk, decide);
  let found;
  return {
    ...list,
    keys: "1–9: that class. Enter: the suggested one. Type and Enter: a class by its name, or a new one. → skip, ? unsure, - leave out, + note, ← undo.",
    show(shown) { found = shown; list.clear(found?.shown ? [found.suggested] : []); },
    update: () => list.update(desk.state.classes),
    onKey(event) {
      if (list.onKey(event)) return true;
      if (event.key === "Enter" && !list.input.value && found?.shown) decide(found.suggested);
      return event.key === "Enter";
    },
  };
}
