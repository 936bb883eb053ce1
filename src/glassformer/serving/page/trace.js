// Opens the page with every number of the answer, in a tab of its own.

import { el } from "./dom.js";

export function drawTrace({ model, limits, answer, changed, text, edits, reasons }) {
  const now = changed ?? answer, asked = changed ? edits.changed : text;
  if (!now || now.prediction === null || model.exported) return null;
  // A model that counts alone reads no tokens; its text has no fewer of them than words.
  const tokens = now.reading?.tokens ?? reasons?.words.length ?? 0;
  const sent = model.inputs ? JSON.stringify(asked) : asked;
  if (Array.from(sent).length > limits.explained_characters || tokens >= model.window) {
    return el("p", { className: "ruled soft" }, "The text is too long to show every number of its answer.");
  }
  return el("form", { className: "ruled", method: "post", action: "trace", target: "_blank", rel: "noopener" },
    el("input", { type: "hidden", name: "model", value: model.name }),
    el("input", { type: "hidden", name: "text", value: sent }),
    el("button", { type: "submit", className: "link" }, "Every number of this answer ↗"));
}
