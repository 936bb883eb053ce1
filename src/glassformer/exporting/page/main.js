// Starts the page: unpacks the model beside it, and passes what is typed on to the model.

import { drawAnswer } from "./answer.js";
import { Desk } from "./desk.js";
import { byId } from "./dom.js";
import { TextField } from "./field.js";
import { located, RowFields } from "./fields.js";
import { drawReaders } from "./readers.js";

const MOST_SECONDS = 60;
const PANELS = { beside: [{ name: "answer", draw: drawAnswer }, { name: "readers", draw: drawReaders }], below: [] };

/** The code of worker.js and what it needs, in a thread of its own. */
class Reader {
  constructor(code) {
    this.waiting = new Map();
    this.stopped = null;
    this.thread = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    this.thread.onmessage = ({ data: { id, found, error } }) => {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) resolve(found);
      else reject(new Error(error));
    };
    this.thread.onerror = ({ message }) => this.fail(new Error(message || "its code did not start"));
  }

  fail(error) {
    for (const { reject } of this.waiting.values()) reject(error);
  }

  send(task, given) {
    return new Promise((resolve, reject) => {
      const id = crypto.getRandomValues(new Uint32Array(1))[0];
      this.waiting.set(id, { resolve, reject });
      this.thread.postMessage({ id, task, ...given });
    });
  }

  /** Asks what must not take for ever: a pattern of the rules may. */
  async ask(task, given) {
    if (this.stopped) throw this.stopped;
    const late = setTimeout(() => {
      this.thread.terminate();
      this.stopped = new Error(`The model was stopped: it took more than ${MOST_SECONDS} seconds. Shorten the text and load the page again.`);
      this.fail(this.stopped);
    }, 1000 * MOST_SECONDS);
    return this.send(task, given).finally(() => clearTimeout(late));
  }
}

async function start() {
  const config = JSON.parse(byId("config").textContent);
  const packed = [...document.querySelectorAll("script[data-file]")];
  const files = Object.fromEntries(packed.map((element) => [element.dataset.file, element.textContent]));
  packed.forEach((element) => element.remove());
  const reader = new Reader(byId("worker").textContent);
  await reader.send("load", { config, files });
  byId("alert").hidden = true;
  Desk.showNames([config]);
  const { inputs } = config, field = inputs ? new RowFields(byId("fields"), inputs, { choose: true }) : new TextField(byId("text"));
  new Desk([config], field, {
    panels: PANELS, limits: {}, isGone: () => false, onGone: () => {},
    ask: {
      answer: (text) => reader.ask("answer", { text }),
      explanation: async (text) => {
        const reasons = await reader.ask("explanation", { text });
        return inputs ? located(reasons, text, inputs) : reasons;
      },
    },
  });
}

start().catch(({ message }) => {
  byId("alert").textContent = `The model cannot run here: ${message.replace(/\.$/u, "")}. If this file may be damaged, copy or export it again. Or try a newer browser.`;
  byId("alert").className = "";
  byId("names").textContent = document.title;
});
