// Starts the page: unpacks the model beside it, and passes what is typed on to the model.

import { drawAnswer } from "./answer.js";
import { Desk } from "./desk.js";
import { byId } from "./dom.js";
import { TextField } from "./field.js";
import { located, RowFields } from "./fields.js";
import { drawReaders } from "./readers.js";

const config = JSON.parse(byId("config").textContent);
const PANELS = { beside: [{ name: "answer", draw: drawAnswer }, { name: "readers", draw: drawReaders }], below: [] };

/** The code of worker.js and what it needs, in a thread of its own. */
class Reader {
  constructor(code) {
    this.waiting = new Map();
    this.thread = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    this.thread.onmessage = ({ data: { id, found, error } }) => {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) resolve(found);
      else reject(new Error(error));
    };
    this.thread.onerror = ({ message }) => {
      for (const { reject } of this.waiting.values()) reject(new Error(message || "its code did not start"));
    };
  }

  ask(task, given) {
    return new Promise((resolve, reject) => {
      const id = crypto.getRandomValues(new Uint32Array(1))[0];
      this.waiting.set(id, { resolve, reject });
      this.thread.postMessage({ id, task, ...given });
    });
  }
}

async function start() {
  const packed = [...document.querySelectorAll("script[data-file]")];
  const files = Object.fromEntries(packed.map((element) => [element.dataset.file, element.textContent]));
  packed.forEach((element) => element.remove());
  const reader = new Reader(byId("worker").textContent);
  await reader.ask("load", { config, files });
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
  byId("alert").textContent = `This browser cannot run the model: ${message}. Try a newer browser.`;
  byId("alert").hidden = false;
  byId("names").textContent = config.name;
});
