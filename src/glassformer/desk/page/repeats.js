// What an answer does to other rows with the same text. Labels of other people stay beside it, and are not shown.

import { counted } from "/page/dom.js";
import { person } from "./server.js";

const OF_TABLE = "table"; // who gave the labels that came with it
export const REPLACES = "Your answer replaces that.";

/** `ofMany`: it is about several texts. `forAll`: it replaces labels of other people too. `beside`: it replaces none. */
export function ofRepeats(desk, { repeats, labels_of_repeats: labels }, { ofMany = false, forAll = false, beside = false } = {}) {
  const replaced = beside ? [] : labels.filter(({ who }) => forAll || [OF_TABLE, person.name].includes(who));
  const one = repeats === 1, texts = ofMany ? "one of these texts" : "this text", same = ofMany ? "the same text as one of these" : "the same text";
  if (!repeats) return "";
  if (!replaced.length) return `${counted(repeats, "more row")} ${one ? "has" : "have"} ${same} and ${one ? "gets" : "get"} the same label.`;
  const said = replaced.map(({ label, rows }) => desk.labelOf(label) + (one ? "" : ` (${rows.toLocaleString("en")})`)).join(", ");
  return `${counted(repeats, "other row")} ${one ? "has" : "have"} ${texts}; ${one ? "it is labelled" : "labelled:"} ${said}. ${REPLACES}`;
}
