// A text in a list: what was decided about it or is suggested, and where to go from there.

import { chance, el } from "/page/dom.js";
import { labelOf } from "./server.js";

/** `alike`: it leads to the texts like it too. `mark`: what stands before the text. */
export function line(desk, { id, text, beside, kind, label, note, suggested, probability, answered, answered_probability: sure }, { alike = false, mark } = {}) {
  const likely = (value) => (value === null || desk.state.task === "number" ? "" : ` ${chance(value)}`);
  const open = suggested === null || suggested === undefined ? "" : `${labelOf(suggested)}?${likely(probability)}`;
  const said = kind === "label" ? labelOf(label) : kind ?? open;
  const other = (answered ?? null) === null || answered === label ? "" : `answered ${labelOf(answered)}${likely(sure)}`;
  const shown = el("span", { dir: "auto" }, text);
  return [
    mark ? el("label", { className: "tick" }, mark, shown) : shown,
    el("p", { className: "soft" }, `${id.toLocaleString("en")} · ${[...Object.values(beside ?? {}), said, other, note].filter(Boolean).join(" · ")} `,
      el("a", { href: "#label", onclick: () => { desk.toLabel = id; } }, "label"), alike ? " · " : "",
      alike ? el("a", { href: "#texts", onclick: () => { desk.alike = id; } }, "texts like it") : ""),
  ];
}
