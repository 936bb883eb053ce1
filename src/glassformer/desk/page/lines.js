// What is said in more than one step. And a text in a list: what was decided about it or is suggested, and where to go from there.

import { chance, el } from "/page/dom.js";

/** What the next model waits for, and how good the models are. Empty if there is nothing to say. */
export const awaited = ({ missing }) => (missing ? `${missing[0].toUpperCase()}${missing.slice(1)}.` : "");
export const howGood = ({ measured }) => (measured ? `On texts drawn at random, ${measured.said}.` : "");

/** How sure the model was. Numbers have no such chance. */
const likely = (desk, value) => (value === null || desk.state.task === "number" ? "" : ` ${chance(value)}`);

/** What the model of the last round said of a text with another label, if it had not learned it. */
export const answeredAs = (desk, { label, answered, answered_probability: sure }) =>
  ((answered ?? null) === null || answered === label ? "" : `answered ${desk.labelOf(answered)}${likely(desk, sure)}`);

/** `alike`: it leads to the texts like it too. `mark`: what stands before the text. */
export function line(desk, found, { alike = false, mark } = {}) {
  const { id, text, beside, kind, label, note, suggested, probability } = found;
  const open = suggested === null || suggested === undefined ? "" : `${desk.labelOf(suggested)}?${likely(desk, probability)}`;
  const said = kind === "label" ? desk.labelOf(label) : kind ?? open;
  const shown = el("span", { dir: "auto" }, text);
  return [
    mark ? el("label", { className: "tick" }, mark, shown) : shown,
    el("p", { className: "soft" }, `${id.toLocaleString("en")} · ${[...Object.values(beside ?? {}), said, answeredAs(desk, found), note].filter(Boolean).join(" · ")} `,
      el("a", { href: "#label", onclick: () => { desk.toLabel = id; } }, "label"), alike ? " · " : "",
      alike ? el("a", { href: "#texts", onclick: () => { desk.alike = id; } }, "texts like it") : ""),
  ];
}
