// The second step: a text, and the classes under the keys 1 to 9 or by typing.

import { counted, el, percent } from "/page/dom.js";
import { appendWords, colour } from "/page/marked.js";
import { ask, get, once, person, post } from "./server.js";

const LONGEST_EXPLAINED = 5000;

export function labelling(desk) {
  let shown = null; // the text on the screen
  let offered = []; // the classes that fit what is typed

  const text = el("p", { className: "words given", dir: "auto", tabIndex: 0, id: "given" });
  const why = el("p", { className: "soft" });
  const suggestion = el("p", { className: "suggestion", hidden: true });
  const classes = el("ol", { className: "classes", "aria-label": "Classes" });
  const typed = el("input", { id: "typed", type: "text", autocomplete: "off", spellcheck: false, "aria-describedby": "keys" });
  const note = el("input", { id: "note", type: "text", autocomplete: "off" });
  const noting = el("p", { hidden: true }, el("label", { for: "note" }, "Note "), note);
  const keys = el("p", { className: "soft keys", id: "keys" },
    "1–9: that class. Enter: the suggested one. Type and Enter: a class by its name, or a new one. → skip, ? unsure, - leave out, + note, ← undo.");
  const button = (name, act) => el("button", { type: "button", onclick: act }, name);
  const others = el("p", { className: "others" },
    button("Skip →", () => decide("skip")), " ", button("Unsure ?", () => decide("unsure")), " ",
    button("Leave out -", () => decide("drop")), " ", button("Note +", () => openNote()), " ",
    button("Undo ←", () => undo()), " ", button("Texts like this one", () => { location.hash = "#texts"; desk.alike = shown?.id; }));
  const name = el("input", { id: "person", type: "text", value: person.name, autocomplete: "off" });
  const blind = el("input", { id: "blind", type: "checkbox", checked: person.blind });
  const twice = el("input", { id: "twice", type: "checkbox" });
  const settings = el("p", { className: "soft settings" },
    el("label", { for: "person" }, "You are "), name, " ", el("label", { for: "blind" }, blind, " hide suggestions"), " ",
    el("label", { for: "twice" }, twice, " two people label each text"));
  const progress = el("p", { className: "soft" });
  const work = el("div", { className: "work" },
    el("div", {}, why, text, suggestion),
    el("div", {}, el("label", { for: "typed" }, "Class"), typed, classes, noting, others));
  const done = el("p", { hidden: true }, "Every text has been decided. ", el("a", { href: "#train" }, "Train on all of them"), ".");
  const place = el("section", { "aria-label": "Label" }, work, done, keys, progress, settings);

  async function enter() {
    update();
    if (desk.toLabel !== undefined) {
      const found = await desk.ask(() => get(`/desk/texts/${desk.toLabel}`));
      desk.toLabel = undefined;
      if (found) show({ ...found.text, way: "search" });
    } else if (!shown) await next();
    typed.focus();
  }

  async function next(leaving) {
    const asked = new URLSearchParams({ who: person.name, ...(leaving === undefined ? {} : { leaving }) });
    const found = await desk.ask(() => get(`/desk/next?${asked}`));
    if (found) show(found.text);
  }

  /** Goes on if the text was decided elsewhere, and nothing has been typed. */
  async function changed() {
    if (!shown || shown.going || typed.value || note.value !== (shown.note ?? "")) return;
    const [before, now] = [shown, await desk.ask(() => get(`/desk/texts/${shown.id}`))];
    if (now && shown === before && now.text.decision !== before.decision) await next();
  }

  function show(found) {
    shown = found;
    work.hidden = !found;
    done.hidden = Boolean(found);
    note.value = found?.note ?? "";
    noting.hidden = !note.value;
    typed.value = "";
    offer();
    if (!found) return;
    text.replaceChildren(found.text);
    text.scrollTop = 0;
    const ways = { random: "Drawn at random", any: "Drawn at random", unsure: "The model is unsure here", second: "Somebody else has labelled it", search: "", alike: "Like the one before", doubt: "" };
    why.textContent = [`Text ${found.id.toLocaleString("en")}`, ways[found.way], found.kind === "label" ? `now: ${found.label}` : found.kind ?? ""].filter(Boolean).join(" · ");
    suggest(found);
    desk.speak(found.text);
  }

  /** Shows what the model suggests, with its reasons. Of texts that measure the model or other people, it is hidden. */
  async function suggest(found) {
    found.shown = Boolean(found.suggested) && !person.blind && !["random", "second"].includes(found.way);
    suggestion.hidden = !found.shown;
    if (!found.shown) return;
    suggestion.textContent = `Suggested: ${found.suggested} (${percent(found.probability)})`;
    offer();
    if (found.text.length > LONGEST_EXPLAINED) return;
    const reasons = await ask("/explain", { text: found.text }).catch(() => null);
    if (shown !== found || !reasons?.words.length) return;
    const most = Math.max(...reasons.words.map(({ total }) => Math.abs(total)), 1e-9);
    text.replaceChildren();
    appendWords(text, reasons.text, reasons.words).forEach((word, number) => {
      word.removeAttribute("role");
      word.removeAttribute("tabindex");
      colour(word, reasons.words[number].total / most);
    });
  }

  /** Shows the classes that fit what is typed: the suggested one first, then in their order. */
  function offer() {
    const wanted = typed.value.trim().toLowerCase();
    const all = desk.state.classes.map((each) => each.name);
    offered = wanted ? [...all.filter((each) => each.toLowerCase().startsWith(wanted)), ...all.filter((each) => each.toLowerCase().includes(wanted) && !each.toLowerCase().startsWith(wanted))] : all;
    const items = offered.slice(0, 50).map((each, number) => el("li", {},
      el("button", { type: "button", className: shown?.shown && each === shown.suggested ? "suggested" : "", onclick: () => decide("label", each) },
        number < 9 && !wanted ? el("kbd", {}, String(number + 1)) : null, ` ${each}`,
        el("small", {}, ` ${desk.state.classes.find(({ name: known }) => known === each).texts.toLocaleString("en")}`))));
    const isNew = wanted && !all.some((each) => each.toLowerCase() === wanted);
    if (isNew) items.push(el("li", {}, el("button", { type: "button", className: "new", onclick: () => decide("label", typed.value) }, `New class: ${typed.value.trim()}`)));
    classes.replaceChildren(...items);
  }

  async function decide(kind, label = null) {
    if (!shown || shown.going) return;
    const { id, way } = shown;
    shown.going = true; // a key that is held down decides once
    typed.focus(); // now, and not when the answer comes: a note to the next text may be typed by then
    const kept = await desk.ask(() => post("/desk/decisions", {
      texts: [id], kind, label, note: note.value, who: person.name, way, shown: shown.shown,
    }));
    shown.going = false;
    if (!kept) return;
    desk.speak(kind === "label" ? `${label}.` : `${kind}.`);
    await Promise.all([next(id), desk.refresh()]);
  }

  async function undo() {
    typed.focus();
    const found = await desk.ask(() => post("/desk/undo", { who: person.name }));
    if (!found) return;
    if (found.text) show(found.text);
    else desk.say("There is nothing of yours to undo.");
    await desk.refresh();
  }

  function openNote() {
    noting.hidden = false;
    note.focus();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const empty = !typed.value;
    const acts = { ArrowRight: () => decide("skip"), ArrowLeft: undo, "?": () => decide("unsure"), "-": () => decide("drop"), "+": openNote };
    if (empty && event.key in acts) acts[event.key]();
    else if (empty && /^[1-9]$/.test(event.key)) {
      if (offered[event.key - 1] !== undefined) decide("label", offered[event.key - 1]);
    } else if (event.key === "Enter") enterTyped();
    else if (event.key === "Escape") { typed.value = ""; offer(); } else return;
    event.preventDefault();
  }

  /** Takes the class that is typed: by its whole name, or the only one that begins so. Otherwise it is a new one. */
  function enterTyped() {
    const wanted = typed.value.trim();
    if (!wanted) {
      if (shown?.shown) decide("label", shown.suggested);
      return;
    }
    const same = offered.find((each) => each.toLowerCase() === wanted.toLowerCase());
    const begin = offered.filter((each) => each.toLowerCase().startsWith(wanted.toLowerCase()));
    if (same !== undefined || begin.length === 1) decide("label", same ?? begin[0]);
    else if (!begin.length) decide("label", wanted);
  }

  const offerOnce = once(offer);

  function update() {
    offerOnce(desk.state.classes);
    if (document.activeElement !== name) name.value = person.name;
    twice.checked = desk.state.twice;
    const { labelled, left, missing, running, measured } = desk.state;
    const model = running ? `Training: ${running.said}` : missing ? `${missing[0].toUpperCase()}${missing.slice(1)}.` : "";
    const right = measured ? `Right on ${measured.right} of the last ${counted(measured.of, "text")} drawn at random (${percent(measured.low)} to ${percent(measured.high)}).` : "";
    progress.textContent = [`${counted(labelled, "label")}, ${counted(left, "text")} left.`, right, model].filter(Boolean).join(" ");
  }

  typed.addEventListener("keydown", onKey);
  typed.addEventListener("input", offer);
  note.addEventListener("keydown", (event) => { if (event.key === "Enter") typed.focus(); });
  name.addEventListener("change", () => { person.name = name.value; next(); });
  blind.addEventListener("change", () => { person.blind = blind.checked; if (shown) show(shown); });
  twice.addEventListener("change", async () => { const state = await desk.ask(() => post("/desk/settings", { twice: twice.checked })); if (state) desk.refresh(state); next(); });
  return { place, enter, update, changed };
}
