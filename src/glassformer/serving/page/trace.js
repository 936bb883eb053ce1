// Opens the page with every number of the answer, in a tab of its own.

import { el } from "./dom.js";

export function drawTrace({ model, answer, changed, text, edits }) {
  if (!answer || (changed ?? answer).prediction === null) return null;
  return el("form", { className: "ruled", method: "post", action: "trace", target: "_blank", rel: "noopener" },
    el("input", { type: "hidden", name: "model", value: model.name }),
    el("input", { type: "hidden", name: "text", value: changed ? edits.changed : text }),
    el("button", { type: "submit", className: "link" }, "Every number of this answer ↗"));
}
