// What to do with the model and the labels.

import { el } from "/page/dom.js";

export function using(desk) {
  const done = el("div", {}), none = el("p", {}, "There is no model yet.");
  const place = el("section", { "aria-label": "Use" }, none, done, el("p", {}, el("a", { href: "/desk/labels.csv" }, "Download the labelled texts (CSV)")));

  function update() {
    const last = desk.state.rounds.findLast(({ state }) => state === "done");
    none.hidden = Boolean(last);
    done.hidden = !last;
    if (!last) return;
    const folder = `${desk.state.project}/models/round-${String(last.number).padStart(4, "0")}`;
    const command = (said, ...parts) => [el("dt", {}, said), el("dd", {}, el("code", {}, parts.map((part) => (/[^\w./-]/.test(part) ? `'${part.replaceAll("'", "'\\''")}'` : part)).join(" ")))];
    done.replaceChildren(
      el("p", {}, el("a", { href: "/", target: "_blank" }, "Try the model, and answer a table"), ", which can be downloaded then."),
      el("p", {}, "The same as commands:"),
      el("dl", { className: "facts" },
        ...command("answer a table", "glassformer", "predict", folder, "--file", "TABLE", "--out", "answers.csv"),
        ...command("explain an answer", "glassformer", "explain", folder, "A text"),
        ...command("serve it", "glassformer", "serve", folder),
        ...command("export it", "glassformer", "export", folder, "--out", "exported")));
  }

  return { place, enter: update, update };
}
