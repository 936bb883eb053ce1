// A number for each text: typed, with Enter.

import { el } from "/page/dom.js";

export function giving(desk, decide) {
  const input = el("input", { id: "typed", type: "text", inputMode: "decimal", autocomplete: "off", "aria-describedby": "keys" });
  let found;

  function give() {
    const given = input.value.trim() || (found?.shown ? found.suggested : "");
    if (given) decide(given);
    else desk.say("Type a number first.");
  }

  return {
    input,
    place: [el("label", { for: "typed" }, "Number"), input, el("p", {}, el("button", { type: "button", onclick: give }, "Give Enter"))],
    keys: "Type the number and Enter. Enter: the suggested one. → skip, ? unsure, Delete leaves out, + note, ← undo.",
    types: /^[-\d.,]$/, // keys that write a number and do nothing else
    show(shown) { found = shown; input.value = ""; },
    clear() { input.value = ""; },
    update() {},
    onKey({ key }) {
      if (key === "Enter") give();
      return key === "Enter";
    },
  };
}
