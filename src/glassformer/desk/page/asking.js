// Who labels: asked in a new tab of a project in which several people have labelled.

import { el } from "/page/dom.js";
import { person } from "./server.js";

export function asking(desk) {
  const names = el("ol", { className: "classes", "aria-label": "People" });
  const other = el("input", { id: "who", type: "text", maxLength: 200, autocomplete: "off" });
  const form = el("form", { className: "naming" }, el("label", { for: "who" }, "Another name"), other, el("button", {}, "Begin"));
  const place = el("section", { "aria-label": "Who labels" }, el("h2", {}, "Who are you?"),
    el("p", { className: "soft" }, "What you decide is kept under your name. It holds for this tab."), names, form);

  async function take(name) {
    if (await person.take(name, desk)) desk.show();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (other.value.trim()) take(other.value);
    else desk.say("Type your name first.");
  });

  function enter() {
    names.replaceChildren(...person.people.map((name) => el("li", {}, el("button", { type: "button", onclick: () => take(name) }, name))));
    names.querySelector("button").focus();
  }
  return { place, enter };
}
