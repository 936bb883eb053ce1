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

/** What a class may be called by: its path, and the ends of its path. */
function endsOf(name, between) {
  const path = between ? name.split(between) : [name];
  return path.map((_, at) => path.slice(at).join(between ?? ""));
}

/** The name that a new one may be a misspelling of: one letter in four may be wrong, but no digit. */
function misspelled(wanted, names, between) {
  const digits = (name) => name.replace(/\D/g, "");
  const off = (name) => distance(wanted.toLowerCase(), name.toLowerCase());
  const isNear = (end) => digits(end) === digits(wanted) && off(end) <= Math.max(end.length, wanted.length) / 4;
  const offs = names.map((name) => [name, Math.min(...endsOf(name, between).filter(isNear).map(off))]);
  return offs.filter(([, least]) => least < Infinity).sort(([, one], [, other]) => one - other)[0]?.[0];
}

/**
 * A field for the name of a class, and the classes that fit what is typed. `choose` is called with a class, and if classes
 * have an order, of a new one with the class before which it comes.
 */
export function classList(desk, choose, { isPressed } = {}) {
  const input = el("input", { id: "typed", type: "text", autocomplete: "off", spellcheck: false, "aria-describedby": "keys" });
  const list = el("ol", { className: "classes", "aria-label": "Classes" });
  let offered = [], suggested = [], near, doubted; // the class that may be meant, and the name for which that was said

  const isOrdered = () => desk.state.ordered && desk.state.classes.length > 0;
  const isCalled = (fits) => (name) => endsOf(name, desk.state.levels).some((end) => fits(end.toLowerCase()));

  /** The classes that begin with what is typed, or with levels whose path goes on so, then those that hold it. */
  function offer() {
    const wanted = input.value.trim().toLowerCase(), all = desk.state.classes.map(({ name }) => name);
    const begins = isCalled((end) => end.startsWith(wanted));
    offered = [...all.filter(begins), ...all.filter((name) => name.toLowerCase().includes(wanted) && !begins(name))];
    const texts = new Map(desk.state.classes.map((each) => [each.name, each.texts]));
    const items = offered.slice(0, SHOWN).map((name, number) => el("li", {}, el("button",
      { type: "button", className: suggested.includes(name) ? "suggested" : "", onclick: () => choose(name), ...(isPressed ? { "aria-pressed": String(isPressed(name)) } : {}) },
      number < 9 && !wanted ? el("kbd", {}, String(number + 1)) : null, ` ${name}`, el("small", {}, ` ${texts.get(name).toLocaleString("en")}`))));
    near = undefined;
    if (wanted && !all.some((name) => name.toLowerCase() === wanted)) {
      near = misspelled(wanted, all, desk.state.levels);
      if (near && !offered.includes(near)) items.push(el("li", {}, el("button", { type: "button", onclick: () => choose(near) }, `Did you mean ${near}?`)));
      const name = input.value.trim(), behind = isOrdered() ? `, above ${all.at(-1)}` : "";
      const places = [...(isOrdered() ? all.slice(0, SHOWN) : []).map((each) => [`, below ${each}`, each]), [behind]];
      items.push(...places.map(([where, before]) => el("li", {}, el("button", { type: "button", className: "new", onclick: () => choose(name, before) }, `New class: ${name}${where}`))));
    }
    list.replaceChildren(...items);
  }

  /** The class that is typed: by its whole name, or the only one that ends or begins so. Otherwise it is a new one. */
  function typed() {
    const wanted = input.value.trim(), low = wanted.toLowerCase();
    const same = offered.find((name) => name.toLowerCase() === low), begin = offered.filter(isCalled((end) => end.startsWith(low)));
    const ends = begin.filter(isCalled((end) => end === low)), meant = ends.length === 1 ? ends : begin;
    if (!same && meant.length > 1) desk.say(`${meant.length.toLocaleString("en")} classes fit “${wanted}”: type more of the name, or choose one.`);
    if (same || begin.length) return same ?? (meant.length > 1 ? undefined : meant[0]);
    if (!(near || isOrdered()) || doubted === wanted) return wanted;
    doubted = wanted;
    const last = desk.state.classes.at(-1)?.name;
    desk.say(near ? `Did you mean ${near}? Press Enter again to make the new class ${wanted}.` : `Choose the place of ${wanted}, or press Enter again to put it above ${last}.`);
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
