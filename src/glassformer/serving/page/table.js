// A table that is dropped or chosen: the server answers its rows, tells how far it is, and measures the answers. Its
// columns can be named, if the server does not find them.

import { el } from "./dom.js";
import { Gone, reach, read, Refusal } from "./server.js";
import { drawResult } from "./result.js";

const FIELDS = { text: "Column of texts", label: "Column of labels", sheet: "Sheet" };

export class TableDesk {
  /** `fields`: those in which columns can be named. */
  constructor(place, { limits, onGone, onText, fields }) {
    Object.assign(this, { limits, onGone, onText, file: null, stop: null });
    const column = (name) => el("input", { id: `column-${name}`, autocomplete: "off", spellcheck: false, onchange: () => this.file && this.send(this.file) });
    this.columns = Object.fromEntries([...fields, "sheet"].map((name) => [name, column(name)]));
    this.input = el("input", { type: "file", accept: ".csv,.tsv,.jsonl,.ndjson,.xlsx,.xlsm,.xlsb,.xls,.ods", className: "unseen" });
    this.input.addEventListener("change", () => this.input.files[0] && this.send(this.input.files[0]));
    this.status = el("p", { role: "status" });
    this.bar = el("progress", { hidden: true, "aria-label": "Rows that are answered" });
    this.cancel = el("button", { type: "button", hidden: true, onclick: () => this.stop?.abort() }, "Stop");
    this.found = el("div", { className: "found" });
    place.replaceChildren(
      el("h2", {}, "A whole table"),
      el("p", {}, el("label", { className: "choose" }, this.input, "Choose a table"),
        el("span", { className: "soft" }, " or drop it on this page. With a column of labels, the answers are measured.")),
      this.naming = el("details", {}, el("summary", {}, "Name its columns or its sheet"),
        el("div", { className: "naming" }, ...Object.entries(this.columns).map(([name, input]) =>
          el("label", { htmlFor: input.id }, FIELDS[name], input)))),
      el("div", { className: "progress" }, this.bar, this.status, this.cancel), this.found);
    place.hidden = false;
    this.watchDrops(place);
  }

  watchDrops(place) {
    const withFile = (event) => event.dataTransfer?.types.includes("Files");
    addEventListener("dragover", (event) => {
      if (!withFile(event)) return;
      event.preventDefault(); // or the browser would leave the page
      place.classList.add("ready");
    });
    addEventListener("dragleave", (event) => { if (!event.relatedTarget) place.classList.remove("ready"); });
    addEventListener("drop", (event) => {
      place.classList.remove("ready");
      if (!withFile(event)) return;
      event.preventDefault();
      if (event.dataTransfer.files[0]) this.send(event.dataTransfer.files[0]);
    });
  }

  async send(file, { baselines = false } = {}) {
    if (this.stop) return; // one table at a time
    this.file = file;
    this.input.value = "";
    if (!baselines) this.found.replaceChildren(); // of the table before
    if (file.size > this.limits.table_bytes) {
      this.say(`${file.name} is larger than ${this.limits.table_bytes.toLocaleString("en")} bytes; use the command "glassformer predict".`);
      return;
    }
    this.stop = new AbortController();
    this.cancel.hidden = this.bar.hidden = false;
    this.bar.removeAttribute("value");
    this.say(`Reading ${file.name} …`);
    try {
      const { sheet, ...columns } = Object.fromEntries(Object.entries(this.columns).map(([name, { value }]) => [name, value.trim()]));
      const query = new URLSearchParams({ name: sheet ? `${file.name}#${sheet}` : file.name, baselines });
      Object.entries(columns).forEach(([name, value]) => value && query.set(name, value));
      const response = await reach(`table?${query}`, { method: "POST", body: file, headers: { "content-type": "text/csv" }, signal: this.stop.signal });
      if (!response.ok) await read(response);
      const result = await this.follow(response, baselines);
      this.found.replaceChildren(drawResult(named(result), {
        onBaselines: () => this.send(file, { baselines: true }), baselines, onText: this.onText,
      }));
      this.say("");
    } catch (error) {
      this.fail(error);
    }
    this.stop = null;
    this.cancel.hidden = this.bar.hidden = true;
  }

  /** Reads lines of JSON: how far the server is, and at last the result. */
  async follow(response, baselines) {
    let rest = "";
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const found = JSON.parse(line);
        if (found.result) return found.result;
        if (found.reason) throw new Refusal(found.reason);
        this.bar.max = found.rows;
        this.bar.value = found.answered;
        const then = baselines ? "Training the baselines on the training rows …" : "Measuring …";
        this.say(found.answered < found.rows
          ? `${found.answered.toLocaleString("en")} of ${found.rows.toLocaleString("en")} rows are answered.` : then);
      }
    }
    throw new Gone();
  }

  fail(error) {
    if (this.stop.signal.aborted) this.say("Stopped.");
    else if (error instanceof Refusal) {
      this.say(inFields(error.message));
      if (inFields(error.message) !== error.message || /\bsheets?\b/.test(error.message)) this.naming.open = true;
    }
    else { this.say("The table was not answered: the server is gone."); this.onGone(); }
  }

  say(what) {
    this.status.textContent = what;
  }
}

/** A sentence of the server, whose settings are fields here. */
function inFields(sentence) {
  return Object.entries(FIELDS).reduce((said, [name, field]) => said.replaceAll(`\`${name}=\``, `“${field}”`), sentence);
}

function named(result) {
  const missing = Object.entries(result.not_measured).map(([model, why]) => [model, inFields(why)]);
  return { ...result, not_measured: Object.fromEntries(missing) };
}
