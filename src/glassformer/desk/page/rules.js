// The rules that each next round reads: a field of the step Train.

import { counted, el } from "/page/dom.js";
import { once, post } from "./server.js";

export function ruling(desk) {
  let begun = ""; // the rules that the field was filled with
  const field = el("textarea", { id: "rules", rows: 6, spellcheck: false, "aria-describedby": "about-rules" });
  const summary = el("summary", {}), about = el("p", { className: "soft", id: "about-rules" });
  const waiting = el("ul", { className: "notes" }), done = el("p", { role: "status" });
  const form = el("form", {}, el("label", { for: "rules" }, "A rule on each line"), field, about, el("button", {}, "Keep the rules"), done);
  const place = el("details", { className: "rules" }, summary, form, waiting);
  const ofNumbers = "\"used\" -> -7.5 adds to the number, and \"free of charge\" -> 0 always decides.";
  const ofClasses = "\"refund\" -> billing speaks for a class, \"refund\" -> not billing against it, and with always at the end it decides. /INV-\\d+/ is a pattern.";

  /** Keeps what is written. Whether the desk takes it. */
  async function keep() {
    done.textContent = "";
    const sent = field.value;
    if (sent.trim() === begun.trim()) return true;
    const state = await desk.ask(() => post("/desk/settings", { rules: sent, rules_before: begun }));
    if (!state) return field.focus() ?? false;
    if (field.value === sent) field.value = state.rules; // else more was typed meanwhile
    begun = state.rules;
    await desk.refresh(state);
    done.textContent = "Kept. The next round reads them.";
    return true;
  }

  const show = once(([given]) => {
    if (field.value.trim() === begun.trim()) field.value = begun = given; // else somebody is writing
    const rules = given.split("\n").filter((line) => line.trim() && !line.trim().startsWith("#")).length;
    const unread = waiting.children.length ? `, ${waiting.children.length.toLocaleString("en")} of them not read` : "";
    summary.textContent = rules ? `${counted(rules, "rule")}${unread}` : "Rules";
  });

  function update() {
    about.textContent = desk.state.task === "number" ? ofNumbers : ofClasses;
    waiting.replaceChildren(...desk.state.rules_waiting.map((why) => el("li", {}, `Not read by the next round: ${why}`)));
    show([desk.state.rules, waiting.children.length]);
  }

  field.addEventListener("input", () => { done.textContent = ""; });
  form.addEventListener("submit", (event) => { event.preventDefault(); keep(); });
  return { place, update, keep };
}
