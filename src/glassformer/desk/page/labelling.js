// The second step: a text, and what its label is given by.

import { counted, el } from "/page/dom.js";
import { giving as givingClass } from "./giving_class.js";
import { giving as givingClasses } from "./giving_classes.js";
import { giving as givingNumber } from "./giving_number.js";
import { ofLabels, showCommand, tableOf } from "./commands.js";
import { answeredAs, awaited, howGood } from "./lines.js";
import { reasoning } from "./reasons.js";
import { ofRepeats, REPLACES } from "./repeats.js";
import { get, latest, me, once, person, post } from "./server.js";

const PRESSED = /^([\d?-]|Delete|ArrowLeft|ArrowRight)$/; // keys that decide, mark or undo where nothing is typed
const SURE = 0.9;
const PANELS = { class: givingClass, classes: givingClasses, number: givingNumber };

export function labelling(desk) {
  let shown = null; // the text on the screen
  let going = false; // whether a decision or an undo is being kept, or what comes next is not shown yet
  let panel = null, panelName = null; // what labels are given by
  const newest = latest();

  const text = el("p", { className: "words given", dir: "auto", tabIndex: 0, id: "given" });
  const why = el("p", { className: "soft" });
  const beside = el("dl", { className: "facts" });
  const reasons = reasoning(desk, text, beside);
  const given = el("div", {}), keys = el("p", { className: "soft keys", id: "keys" });
  const note = el("input", { id: "note", type: "text", autocomplete: "off" });
  const noting = el("p", { hidden: true }, el("label", { for: "note" }, "Note "), note);
  const button = (name, act) => el("button", { type: "button", onclick: act }, name);
  const others = el("p", { className: "others" },
    button("Skip →", () => decide("skip")), " ", button("Unsure ?", () => decide("unsure")), " ",
    button("Leave out -", () => decide("drop")), " ", button("Note +", () => openNote()), " ",
    button("Undo ←", () => undo()), " ", button("Texts like this one", () => { location.hash = "#texts"; desk.alike = shown?.id; }));
  const name = el("input", { id: "person", type: "text", maxLength: 200, autocomplete: "off" });
  const blind = el("input", { id: "blind", type: "checkbox" });
  const twice = el("input", { id: "twice", type: "checkbox" });
  const settings = el("p", { className: "soft settings" },
    el("label", { for: "person" }, "You are "), name, " ", el("label", { for: "blind" }, blind, " hide suggestions"), " ",
    el("label", { for: "twice" }, twice, " two people label each text"));
  const progress = el("p", { className: "soft" }), command = el("p", { className: "soft" });
  const work = el("div", { className: "work" },
    el("div", {}, why, text, beside, ...reasons.place),
    el("div", {}, given, noting, others));
  const done = el("p", { hidden: true }, "Every text has been decided. ", el("a", { href: "#train" }, "Train on all of them"), ".");
  const place = el("section", { "aria-label": "Label" }, work, done, keys, progress, settings, command);

  async function enter() {
    const { activeElement } = document;
    update();
    if (desk.toLabel !== undefined) {
      const found = await desk.ask(() => get(`/desk/texts/${desk.toLabel}?${me()}`));
      desk.toLabel = undefined;
      if (found) show({ ...found.text, way: "search" });
    } else if (shown) await changed();
    else await next();
    if ([activeElement, document.body].includes(document.activeElement)) panel.input.focus(); // a person may have gone on
  }

  /** Takes the panel of the kind of labels. It may change as long as no label is given. */
  function choosePanel() {
    if (panelName === desk.state.panel) return;
    panelName = desk.state.panel;
    panel = PANELS[panelName](desk, (label, before) => decide("label", label, before));
    given.replaceChildren(...panel.place);
    keys.textContent = panel.keys;
    panel.show(shown);
  }

  async function next(leaving) {
    const found = await newest(desk.ask(() => get(`/desk/next?${me(leaving === undefined ? {} : { leaving })}`)));
    if (found) show(found.text);
  }

  /** Goes on if the text was decided elsewhere, and shows another suggestion, unless something has been typed. `anew`: in any case. */
  async function changed({ anew = false } = {}) {
    if (!shown || going || (!anew && (panel.input.value || note.value !== (shown.note ?? "")))) return;
    const [before, now] = [shown, await desk.ask(() => get(`/desk/texts/${shown.id}?${me()}`), { aside: true })];
    if (shown !== before) return void await changed({ anew }); // what came meanwhile may have been asked for before the change
    if (!now || going) return; // a decision goes on by itself
    if (now.text.decision !== before.decision) await next();
    else if (anew || now.text.suggested !== before.suggested) show({ ...now.text, way: before.way });
  }

  function show(found) {
    shown = found;
    work.hidden = !found;
    done.hidden = Boolean(found);
    note.value = found?.note ?? "";
    noting.hidden = !note.value;
    if (found) found.shown = found.suggested !== null && !["random", "second"].includes(found.way);
    panel.show(found);
    if (!found) return;
    text.replaceChildren(found.text);
    beside.hidden = !found.beside;
    beside.replaceChildren(...Object.entries(found.beside ?? {}).flatMap(([column, value]) => [el("dt", { dir: "auto" }, column), el("dd", { dir: "auto", "data-of": column }, value ?? "–")]));
    text.scrollTop = 0;
    const sure = desk.state.task !== "number" && found.probability > SURE; // the least sure one may be
    const ways = { random: "Drawn at random", any: "Drawn at random", unsure: sure ? "" : "One of the texts that the model is least sure of", second: "Somebody else has labelled it", search: "", alike: "Like the one before", doubt: "" };
    const repeats = ofRepeats(desk, found);
    why.textContent = [`Text ${found.id.toLocaleString("en")}`, ways[found.way], found.kind === "label" ? `now: ${desk.labelOf(found.label)}` : found.kind ?? "", answeredAs(desk, found), repeats].filter(Boolean).join(" · ");
    reasons.show(found);
    desk.speak(found.text + (repeats.includes(REPLACES) ? ` ${repeats}` : ""));
  }

  /** Keeps what a key does, then shows what comes next. Until that is there, other keys do nothing: they would be about the text that goes. */
  async function keep(what, goOn) {
    if (going) return;
    going = true;
    panel.input.focus(); // now, and not when the answer comes: a note to the next text may be typed by then
    const kept = await desk.ask(what), refreshed = kept && desk.refresh();
    if (kept) await goOn(kept);
    going = false;
    await refreshed;
  }

  /** `before`: the class before which a new one comes. */
  async function decide(kind, label = null, before = undefined) {
    if (!shown) return;
    const { id, way } = shown;
    const decision = { texts: [id], kind, label, note: note.value, who: person.name, way, shown: shown.shown };
    const put = async () => before && post("/desk/classes", { name: label, before, who: person.name });
    await keep(() => put().then(() => post("/desk/decisions", decision)), () => {
      desk.speak(kind === "label" ? `${desk.labelOf(label)}.` : `${kind}.`);
      return next(id);
    });
  }

  const undo = () => keep(() => post("/desk/undo", person.viewer), (found) => {
    if (found.text) show(found.text);
    else desk.say(found.classes ? "The class has its old name again." : "There is nothing of yours to undo.");
  });

  function openNote() {
    noting.hidden = false;
    note.focus();
  }

  /** Keys count wherever the focus is, but not in other fields. What is typed goes into the field of the labels. */
  function onAnyKey(event) {
    if (!place.isConnected || desk.leaving || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.shiftKey && event.key.startsWith("Arrow")) return; // it selects words
    if (event.repeat && event.key === "Enter") return;
    if (work.hidden && event.key !== "ArrowLeft") return; // the last text can be undone
    if (event.target !== panel.input) {
      if (event.target.closest("input:not([type=checkbox]), select, textarea, dialog")) return;
      if (["Enter", " "].includes(event.key) && event.target.closest("a:not([aria-current]), button, input")) return; // they press it
      if (event.key.length === 1 && event.key !== " ") panel.input.focus();
    }
    onKey(event);
  }

  function onKey(event) {
    const drop = () => decide("drop");
    const acts = { ArrowRight: () => decide("skip"), ArrowLeft: undo, "?": () => decide("unsure"), "-": drop, Delete: drop, "+": openNote };
    if (panel.types?.test(event.key)) return;
    if (event.repeat && !panel.input.value && PRESSED.test(event.key)) return void event.preventDefault(); // held down, it is pressed once
    if (!panel.onKey(event)) {
      if (!panel.input.value && event.key in acts) acts[event.key]();
      else if (event.key === "Escape") panel.clear();
      else return;
    }
    event.preventDefault();
  }

  const readAnew = once(() => {
    if (!shown) return;
    shown = null;
    next();
  });

  function update() {
    readAnew(["table", "text", "other_texts", "columns", "label", "lower", "levels", "task"].map((name) => desk.state[name])); // it may be of other columns
    choosePanel();
    panel.update();
    const labels = ofLabels(desk.state);
    showCommand(command, "As a command, the texts that are most worth labelling, by the labels of the last round", labels && [...labels, "--next", "20", ...tableOf(desk.state)]);
    if (document.activeElement !== name) name.value = person.name;
    [blind.checked, twice.checked] = [person.blind, desk.state.twice];
    const { labelled, left, running } = desk.state;
    const model = running ? `Training: ${running.said}` : awaited(desk.state);
    progress.textContent = [`${counted(labelled, "label")}, ${counted(left, "text")} left.`, howGood(desk.state), model].filter(Boolean).join(" ");
  }

  document.addEventListener("keydown", onAnyKey);
  note.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.isComposing) panel.input.focus(); });
  name.addEventListener("change", async () => { if (await person.take(name.value, desk)) next(); });
  blind.addEventListener("change", async () => { await person.take(person.name, desk, blind.checked); await changed({ anew: true }); });
  twice.addEventListener("change", async () => { const state = await desk.ask(() => post("/desk/settings", { twice: twice.checked })); if (state) desk.refresh(state); next(); });
  return { place, enter, update, changed };
}
