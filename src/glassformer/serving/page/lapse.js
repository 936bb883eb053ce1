// Opens the page with the snapshots that training took, in a tab of its own.

import { el } from "./dom.js";

export function drawLapse({ model }) {
  if (!model.has_time_lapse) return null;
  return el("p", { className: "ruled" }, el("a", {
    className: "link", href: `time-lapse?model=${encodeURIComponent(model.name)}`, target: "_blank", rel: "noopener",
  }, "How it learned, a time-lapse ↗"));
}
