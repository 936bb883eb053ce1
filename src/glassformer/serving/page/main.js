// Starts the page: loads the models, and passes what is typed on to a column per model.

import { Column } from "./column.js";
import { el, percent, said } from "./dom.js";
import { Edits } from "./edits.js";
import { closeEditor } from "./editor.js";
import { get, Gone } from "./server.js";
import { TableDesk } from "./table.js";

const TYPING = 120, EXPLAINING = 450, SPEAKING = 900, KNOCKING = 2000; // milliseconds
const byId = (id) => document.getElementById(id);
const text = byId("text"), alert = byId("alert"), changes = byId("changes"), spoken = byId("spoken");
const edits = new Edits(), timers = {};
let columns = [];

function later(name, milliseconds, what) {
  clearTimeout(timers[name]);
  timers[name] = setTimeout(what, milliseconds);
}

function onInput() {
  edits.clear(text.value);
  closeEditor();
  showChanges();
  later("read", TYPING, () => columns.forEach((column) => column.read(text.value)));
  later("explain", EXPLAINING, () => columns.forEach((column) => column.explain(text.value)));
}

function onEdit() {
  showChanges();
  columns.forEach((column) => column.reread());
}

function showChanges() {
  changes.hidden = !text.value.trim();
  if (!edits.any) {
    const words = columns.some(({ state }) => state.reasons?.words.length);
    changes.textContent = words ? "Click a word below to drop or swap it." : "";
    return;
  }
  const button = (name, act) => el("button", { type: "button", onclick: act }, name);
  changes.replaceChildren(
    el("span", {}, `${edits.summary}.`), " ",
    button("Keep", () => { text.value = edits.changed; onInput(); text.focus(); }), " ",
    button("Undo", () => { edits.clear(text.value); onEdit(); text.focus(); }));
}

/** Tells a screen reader the answer, once the typing pauses. */
function onAnswer() {
  later("speak", SPEAKING, () => {
    spoken.textContent = columns.map(({ state: { model, answer, changed } }) => {
      const now = changed ?? answer;
      return now?.prediction == null ? "" : `${model.name}: ${said(now.prediction)}, ${percent(now.confidence)}.`;
    }).join(" ");
  });
}

/** Says that the server is gone, and asks again until it is back. */
function onGone() {
  if (alert.hidden) {
    alert.textContent = "The server does not answer. Start it again with `glassformer serve`; this page then goes on.";
    alert.hidden = false;
    document.body.classList.add("gone");
  }
  later("knock", KNOCKING, async () => {
    try {
      await get("health");
    } catch {
      onGone();
      return;
    }
    alert.hidden = true;
    document.body.classList.remove("gone");
    if (columns.length) onInput();
    else start();
  });
}

function showNames(models) {
  const names = new Intl.ListFormat("en").format(models.map(({ name }) => name));
  document.title = `${names} · glassformer`;
  byId("names").textContent = names;
}

async function start() {
  let found;
  try {
    found = await get("model");
  } catch (error) {
    if (error instanceof Gone) onGone();
    else byId("names").textContent = error.message;
    return;
  }
  showNames(found.models);
  columns = found.models.map((model) =>
    new Column(model, edits, {
      limits: found.limits, onEdit, onAnswer, onReasons: showChanges, onGone, named: found.models.length > 1,
    }));
  byId("columns").className = columns.length > 1 ? "two" : "alone";
  byId("columns").replaceChildren(...columns.map(({ place }) => place));
  const onText = (chosen) => { text.value = chosen; onInput(); text.scrollIntoView({ block: "center" }); text.focus(); };
  if (found.tables) new TableDesk(byId("table"), { limits: found.limits, onGone, onText });
  text.addEventListener("input", onInput);
  if (text.value) onInput(); // a browser may keep what was typed when the page is loaded again
}

start();
