// The model card, and what was measured. The card is Markdown of headings, lists, paragraphs, code and backticks.

import { el } from "./dom.js";

export function drawCard({ model }) {
  if (!model.card) return null;
  return el("details", {}, el("summary", {}, "Model card"), el("div", { className: "card" }, ...blocks(model.card)));
}

function blocks(markdown) {
  return markdown.trim().split(/\n{2,}/).map((block) => {
    if (block.startsWith("    ")) return el("pre", {}, block.replace(/^ {4}/gm, ""));
    if (block.startsWith("#")) return el("h4", {}, ...inline(block.replace(/^#+ /, "")));
    if (block.startsWith("- ")) {
      return el("ul", {}, ...block.split(/\n(?=- )/).map((item) => el("li", {}, ...inline(item.slice(2)))));
    }
    return el("p", {}, ...inline(block));
  });
}

function inline(text) {
  return text.split(/`([^`]*)`/).map((part, number) => (number % 2 ? el("code", {}, part) : part));
}
