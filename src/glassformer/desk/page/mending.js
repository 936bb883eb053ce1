// Doubtful labels, most doubtful first; and the classes: rename one, join two, or split one.

import { counted, el } from "/page/dom.js";
import { get, labelOf, once, person, post } from "./server.js";

export function mending(desk) {
  const doubts = el("ol", { className: "near-texts" }), heading = el("h2", {}, "Doubtful labels");
  const said = el("p", { className: "soft" }), classes = el("ul", { className: "near-texts" });
  const different = el("ol", { className: "near-texts" }), agreed = el("p", {});
  const order = el("p", { className: "soft" }, "The first class is the lowest. ↑ changes the order.");
  const people = el("div", { hidden: true }, el("h2", {}, "Different labels"), agreed, different);
  const place = el("section", { "aria-label": "Mend" }, people, heading, said, doubts, el("h2", {}, "Classes"),
    order, el("p", { className: "soft" }, "Give a class another name. If that name is another class, the two are joined. To split a class, mark some of its texts and label them anew. ← on the step Label undoes it."), classes);

  async function enter() {
    update();
    const [found, labels] = await Promise.all([desk.ask(() => get("/desk/doubts")), desk.ask(() => get("/desk/disagreements"))]);
    if (!found || !labels) return;
    different.replaceChildren(...labels.disagreements.map(disputed));
    said.textContent = found.doubts.length
      ? `${counted(found.doubts.length, "label")}: a model that has not seen the text gives another one. Many are right as they are.`
      : desk.state.rounds.length ? "The last check doubts none. The next round of training checks again." : "Labels are checked after each round of training.";
    doubts.replaceChildren(...found.doubts.map(doubtful));
  }

  /** Makes buttons that decide about the text of an item, which is then gone from its list. */
  function deciding(item, id, way) {
    const decide = async (kind, to) => {
      const kept = await desk.ask(() => post("/desk/decisions", { texts: [id], kind, label: to, who: person.name, way, shown: true }));
      if (!kept) return;
      const following = item.nextElementSibling ?? item.previousElementSibling;
      item.remove();
      following?.querySelector("button")?.focus();
      desk.speak(`Text ${id}: ${labelOf(to) ?? "left out"}.`);
      await desk.refresh();
    };
    return (name, kind, to) => el("button", { type: "button", onclick: () => decide(kind, to) }, name);
  }

  function disputed({ id, text, labels }) {
    const item = el("li", {}), button = deciding(item, id, "settle");
    const given = [...new Set(labels.map(({ label }) => label))];
    item.append(el("p", { dir: "auto" }, text),
      el("p", { className: "soft" }, `${id} · ${labels.map(({ who, label, note }) => `${who}: ${labelOf(label)}${note ? ` (${note})` : ""}`).join(" · ")} `),
      el("p", {}, ...given.flatMap((label) => [button(labelOf(label), "label", label), " "]), button("leave out", "drop", null)));
    return item;
  }

  function doubtful({ id, why, suggested, text: { text, label } }) {
    const item = el("li", {}), button = deciding(item, id, "doubt");
    item.append(el("p", { dir: "auto" }, text), el("p", { className: "soft" }, `${id} · ${why} · `,
      button(`keep ${labelOf(label)}`, "label", label), " ", button(`change to ${labelOf(suggested)}`, "label", suggested), " ", button("leave out", "drop", null), " ",
      el("a", { href: "#label", onclick: () => { desk.toLabel = id; } }, "another")));
    return item;
  }

  function update() {
    const { agreement } = desk.state, shown = (figure) => (figure === null ? "–" : figure.toFixed(2));
    people.hidden = !agreement;
    order.hidden = !desk.state.ordered;
    if (agreement) agreed.textContent = `${counted(agreement.texts, "text")} labelled by two or more. ${agreement.pairs.map(({ people: [one, other], texts, same, kappa }) =>
      `${one} and ${other} agree on ${same} of ${texts} (Cohen's kappa ${shown(kappa)}).`).join(" ")} Krippendorff's alpha of all: ${shown(agreement.alpha)}. Texts with different labels are not learned until you settle them.`;
    drawClasses(desk.state.classes);
  }

  async function change(body) {
    const state = await desk.ask(() => post("/desk/classes", { ...body, who: person.name }));
    if (state) await desk.refresh(state);
  }

  const drawClasses = once((all) => {
    classes.replaceChildren(...all.map(({ name, texts }) => {
      const to = el("input", { type: "text", value: name, "aria-label": `New name of ${name}` });
      const form = el("form", { className: "naming" }, el("span", {}, `${name}: ${counted(texts, "text")}`), to, el("button", {}, "Rename or join"),
        el("a", { href: "#texts", "aria-label": `Split ${name}`, onclick: () => { desk.split = name; } }, "Split"),
        desk.state.ordered ? el("button", { type: "button", "aria-label": `${name} comes earlier`, onclick: () => change({ name, up: true }) }, "↑") : "");
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        change({ name, to: to.value });
      });
      return el("li", {}, form);
    }));
  });

  return { place, enter, update };
}
