// The recent answers beside those to the held-out rows of training. The server is asked whenever this is opened.

import { chance, el, percent, short, table } from "./dom.js";
import { perColumn } from "./fold.js";
import { Gone, get } from "./server.js";

const SHOWN = 20; // figures

export const drawDrift = perColumn(() => new Drift());

class Drift {
  constructor() {
    this.inside = el("div", { className: "inside" });
    this.place = el("details", {}, el("summary", {}, "Drift: the recent texts"), this.inside);
    this.place.addEventListener("toggle", () => this.place.open && this.fill());
  }

  draw(state) {
    this.state = state;
    return this.place;
  }

  async fill() {
    const { model, onGone } = this.state;
    try {
      const found = (await get("drift")).find((each) => each.model === model.name);
      this.inside.replaceChildren(...(found ? shown(found) : []));
    } catch (error) {
      if (error instanceof Gone) onGone();
      else this.inside.replaceChildren(el("p", {}, error.message));
    }
  }
}

function shown({ figures, sentence, texts, held_out_rows: rows }) {
  const note = el("p", { className: "soft" }, "Texts that programs sent to /predict count, those typed on this page do not.");
  if (!figures.length) return [el("p", {}, sentence), note];
  const lines = figures.slice(0, SHOWN).map(({ name, recent, held_out: usual, moved }) => {
    const write = name === "answer" ? short : name === "confidence" ? chance : percent; // an answer has its own unit
    return [name, write(recent), usual === null ? "not known" : write(usual), moved === null ? "" : moved ? "yes" : "no"];
  });
  const heads = ["figure", `last ${texts.toLocaleString("en")} texts`, rows === null ? "held-out rows" : `${rows.toLocaleString("en")} held-out rows`, "differs?"];
  return [el("p", {}, sentence), table("Shares and means", heads, lines), note];
}
