// The first step: choose a table, see what was found in it, and correct the columns.

import { el } from "/page/dom.js";
import { ofColumns, showCommand, tableOf } from "./commands.js";
import { get, post, send } from "./server.js";

const TASKS = { classes: "one class", levels: "one class with levels: Food > Fruit", several: "several classes, or none", ordered: "one of ordered classes", number: "a number" };

const USES = { "": "not read", other_texts: "a further text", columns: "beside the text: a category or a number", lower: "a lower level of the label" };

const MANY = 20; // tables: of more, those with a word in their names are looked for

export function opening(desk) {
  let changed = false; // whether columns have been chosen that are not read yet
  const choose = el("input", { type: "file", className: "unseen-input", id: "file" });
  const part = el("select", { id: "part", required: true }), whole = el("span", {});
  const wanted = el("input", { type: "search", id: "wanted-part", autocomplete: "off" }), looking = el("label", {}, "Only names with", wanted);
  const several = el("form", { className: "naming", hidden: true }, el("label", {}, whole, part), looking, el("button", {}, "Read it"));
  const drop = el("div", { className: "drop" },
    el("label", { for: "file", className: "choose" }, choose, "Choose a table"),
    el("p", {}, "or drop it here: Excel, CSV, TSV, JSON, Parquet, SQLite, or a .zip of them or of texts in a folder for each class. Labels may be missing."),
    several);
  const found = el("ul", { className: "notes" });
  const text = el("select", { id: "text-column" }), label = el("select", { id: "label-column" }), task = el("select", { id: "task" });
  task.append(...Object.entries(TASKS).map(([value, name]) => el("option", { value }, name)));
  const between = el("input", { type: "text", id: "between", size: 5 }), levels = el("label", {}, "Between two levels", between);
  const values = el("dl", { className: "facts" });
  const columns = el("form", { className: "naming" },
    el("label", {}, "Texts", text), el("label", {}, "Labels", label), el("label", {}, "Each text gets", task), levels,
    el("details", {}, el("summary", {}, "All columns: read more than one"), values), el("button", {}, "Read these columns"));
  const command = el("p", { className: "soft" });
  const onward = el("p", {}, el("a", { href: "#label", className: "onward" }, "Begin to label"));
  const chosen = el("div", {}, el("h2", {}, "What was found"), found, columns, onward, command);
  const place = el("section", { "aria-label": "Open" }, drop, chosen);

  let sent, parts = []; // the file that holds several tables, and their names and sizes

  async function take(file, name) {
    if (!file) return undefined;
    several.hidden = true;
    const asked = new URLSearchParams({ name: file.name, ...(name === undefined ? {} : { part: name }) });
    const state = await desk.ask(() => send(`/desk/table?${asked}`, file).catch((error) => askForPart(file, error)));
    choose.value = "";
    if (!several.hidden) return part.focus();
    if (state) await desk.refresh(state);
    return enter();
  }

  /** Asks which table of a file is meant: a sheet of a workbook, a table of a database, a file in an archive. */
  function askForPart(file, error) {
    if (!error.parts) throw error;
    sent = file;
    whole.textContent = `${file.name} holds several tables. Which one?`;
    parts = Object.entries(error.parts);
    wanted.value = "";
    looking.hidden = parts.length <= MANY;
    offerParts();
    several.hidden = false;
    desk.speak(whole.textContent);
  }

  function offerParts() {
    const fits = ([name]) => name.toLowerCase().includes(wanted.value.trim().toLowerCase());
    part.replaceChildren(...parts.filter(fits).map(([value, size]) => el("option", { value }, size ? `${value} (${size})` : value)));
  }

  async function enter() {
    update();
    if (!desk.state.table) return;
    const all = await desk.ask(() => get("/desk/columns")) ?? [];
    const option = ({ name }) => el("option", { value: name }, name);
    text.replaceChildren(...all.map(option));
    label.replaceChildren(el("option", { value: "" }, "none: I give them all"), ...all.map(option));
    text.value = desk.state.text ?? "";
    label.value = desk.state.label ?? "";
    task.value = desk.state.levels ? "levels" : desk.state.task;
    between.value = desk.state.levels ?? " > ";
    values.replaceChildren(...all.flatMap(({ name, shown }) => [el("dt", {}, name), el("dd", {}, shown.replace(/^.*?: /, ""), " ", useOf(name))]));
    hideTaken();
  }

  /** What else is read of a column. */
  function useOf(name) {
    const use = el("select", { className: "use", name, "aria-label": `What ${name} is used for` });
    use.append(...Object.entries(USES).map(([value, said]) => el("option", { value }, said)));
    use.value = Object.keys(USES).find((each) => desk.state[each]?.includes(name)) ?? "";
    return use;
  }

  function update() {
    const { table, fixed } = desk.state;
    drop.hidden = fixed;
    chosen.hidden = !table;
    columns.hidden = fixed;
    onward.hidden = !desk.state.texts;
    const checked = desk.state.texts && desk.state.label !== null;
    showCommand(command, "As a command, a longer look at the labelled rows", checked && ["doctor", ...tableOf(desk.state), ...ofColumns(desk.state)]);
    found.replaceChildren(...[...desk.state.found, ...desk.state.class_notes].map((sentence) => el("li", {}, sentence)));
  }

  wanted.addEventListener("input", offerParts);
  several.addEventListener("submit", (event) => { event.preventDefault(); take(sent, part.value); });
  choose.addEventListener("change", () => take(choose.files[0]));
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("ready"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("ready"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("ready");
    const [item] = event.dataTransfer.items;
    if (item?.webkitGetAsEntry()?.isDirectory) desk.say("This is a folder. Pack it as a .zip and drop that, or open the folder from the terminal: glassformer desk FOLDER");
    else take(event.dataTransfer.files[0]);
  });
  /** The columns of the first text and of the labels have no other use, and only paths have something between levels. */
  function hideTaken() {
    levels.hidden = task.value !== "levels";
    values.querySelectorAll(".use").forEach((use) => { use.hidden = [text.value, label.value].includes(use.name); });
  }

  /** Names the columns that are read besides the first text, by their use. */
  function used() {
    const chosen = [...values.querySelectorAll(".use")].filter(({ hidden }) => !hidden);
    return Object.fromEntries(Object.keys(USES).filter(Boolean).map((use) => [use, chosen.filter(({ value }) => value === use).map(({ name }) => name)]));
  }

  text.addEventListener("change", hideTaken);
  label.addEventListener("change", hideTaken);
  task.addEventListener("change", hideTaken);
  async function read() {
    changed = false;
    const kind = task.value === "levels" ? { task: "classes", levels: between.value } : { task: task.value };
    const state = await desk.ask(() => post("/desk/columns", { text: text.value, label: label.value || null, ...kind, ...used() }));
    if (state) await desk.refresh(state);
    return Boolean(state);
  }

  columns.addEventListener("change", () => { changed = true; });
  columns.addEventListener("submit", (event) => {
    event.preventDefault();
    read();
  });
  return { place, enter, update, leave: () => !changed || read() }; // what was chosen counts, also if nobody presses the button
}
