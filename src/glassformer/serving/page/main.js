// Starts the page: loads the models, and waits for the server if it is gone.

import { Desk } from "./desk.js";
import { byId } from "./dom.js";
import { BELOW, BESIDE } from "./panels.js";
import { get, Gone, post } from "./server.js";
import { TableDesk } from "./table.js";

const KNOCKING = 2000; // milliseconds
const alert = byId("alert");
const ask = {
  answer: async (text, model) => {
    refuseSeveral(model);
    return (await post("predict", { text, model: model.name })).answers[0];
  },
  explanation: async (text, model) => {
    refuseSeveral(model);
    return post("explain", { text, model: model.name, nearest: model.keeps_texts });
  },
};
let desk = null, knocking;

/** The text field holds one text. */
function refuseSeveral({ inputs }) {
  if (!inputs) return;
  const names = new Intl.ListFormat("en").format(inputs);
  throw new Error(`This model reads ${names}, not one text. Choose a table below, or send rows to the API.`);
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
  Desk.showNames(found.models);
  desk = new Desk(found.models, { panels: { beside: BESIDE, below: BELOW }, ask, limits: found.limits, isGone, onGone });
  const onText = (chosen) => { desk.put(chosen); desk.text.scrollIntoView({ block: "center" }); };
  if (found.tables) new TableDesk(byId("table"), { limits: found.limits, onGone, onText });
}

start();
