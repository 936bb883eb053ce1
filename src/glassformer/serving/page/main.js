// Starts the page: loads the models, and waits for the server if it is gone.

import { Desk } from "./desk.js";
import { byId } from "./dom.js";
import { TextField } from "./field.js";
import { located, RowFields } from "./fields.js";
import { BELOW, BESIDE, FEEDBACK } from "./panels.js";
import { get, Gone, post } from "./server.js";
import { TableDesk } from "./table.js";

const KNOCKING = 2000; // milliseconds
const alert = byId("alert");
const ask = {
  answer: async (text, model) => (await post("predict", { text, model: model.name })).answers[0],
  explanation: async (text, model) => {
    const reasons = await post("explain", { text, model: model.name, ...(model.keeps_texts ? { nearest: true } : {}) });
    return model.inputs ? located(reasons, text, model.inputs) : reasons;
  },
};
let desk = null, knocking;

/** What is typed into, for all models; null if they read different inputs. */
function fieldOf(models) {
  const [first, ...others] = models.map(({ inputs }) => inputs && [inputs.texts, inputs.columns.map(({ name, kind }) => [name, kind])]);
  if (others.some((inputs) => JSON.stringify(inputs) !== JSON.stringify(first))) return null;
  return first ? new RowFields(byId("fields"), models[0].inputs) : new TextField(byId("text"));
}

/** Says that the server is gone, and asks again until it is back. */
function onGone() {
  if (alert.hidden) {
    alert.textContent = "The server does not answer. Start it again with `glassformer serve`; this page then goes on.";
    alert.hidden = false;
    document.body.classList.add("gone");
  }
  clearTimeout(knocking);
  knocking = setTimeout(async () => {
    try {
      await get("health");
    } catch {
      onGone();
      return;
    }
    alert.hidden = true;
    document.body.classList.remove("gone");
    if (desk) desk.read();
    else start();
  }, KNOCKING);
}

function isGone(error) {
  if (error instanceof Gone) onGone();
  return error instanceof Gone;
}

async function start() {
  let found;
  try {
    found = await get("model");
  } catch (error) {
    if (!isGone(error)) byId("names").textContent = error.message;
    return;
  }
  if (!found.models.length) {
    document.querySelector(".ask").hidden = true;
    byId("names").textContent = "There is no model yet.";
    return;
  }
  Desk.showNames(found.models);
  const field = fieldOf(found.models);
  if (!field) {
    document.querySelector(".ask").hidden = true;
    alert.textContent = "These models read different inputs, so they cannot share a page. Serve each by itself.";
    alert.hidden = false;
    return;
  }
  if (found.feedback) byId("keeps").textContent = "keeps only texts whose right answer you give";
  const below = found.feedback ? [FEEDBACK, ...BELOW] : BELOW;
  desk = new Desk(found.models, field, { panels: { beside: BESIDE, below }, ask, limits: found.limits, isGone, onGone });
  const onText = (chosen) => { desk.put(chosen); byId("fields").scrollIntoView({ block: "center" }); };
  if (found.tables) new TableDesk(byId("table"), { limits: found.limits, onGone, onText, fields: found.models[0].inputs ? ["label"] : ["text", "label"] });
}

start();
