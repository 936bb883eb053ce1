// The rules that match the text.

import { el, table, wordingOf } from "./dom.js";

export function drawRules({ reasons }) {
  if (!reasons?.rules?.length) return null;
  const { whole, written } = wordingOf(reasons);
  return el("details", { open: true },
    el("summary", {}, "The rules that match"),
    table(`What each rule adds to the ${whole}`, ["rule", "effect", "share"],
      reasons.rules.map(({ rule, effect, share }) => [rule, effect, written(share)])));
}
