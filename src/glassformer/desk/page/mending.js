// Doubtful labels, most doubtful first; and the classes: rename one, or join two.

import { counted, el } from "/page/dom.js";
import { get, person, post } from "./server.js";

export function mending(desk) {
  const doubts = el("ol", { className: "near-texts" }), heading = el("h2", {}, "Doubtful labels");
  const said = el("p", { className: "soft" }), classes = el("ul", { className: "near-texts" });
  const place = el("section", { "aria-label": "Mend" }, heading, said, doubts, el("h2", {}, "Classes"),
    el("p", { className: "soft" }, "Give a class another name. If that name is another class, the two are joined. ← on the step Label undoes it."), classes);

  async function enter() {
    update();
    const found = await desk.ask(() => get("/desk/doubts"));
    if (!found) return;
    said.textContent = found.doubts.length
      ? `${counted(found.doubts.length, "label")}: a model that has not seen the text gives another one. Many are right as they are.`
      : desk.state.rounds.length ? "The last check doubts none. The next round of training checks again." : "Labels are checked after each round of training.";
    doubts.replaceChildren(...found.doubts.map(doubtful));
  }

  function doubtful({ id, why, suggested, text: { text, label } }) {
    const item = el("li", {});
    const decide = async (kind, to) => {
      const kept = await desk.ask(() => post("/desk/decisions", { texts: [id], kind, label: to, who: person.name, way: "doubt", shown: true }));
      if (!kept) return;
      const following = item.nextElementSibling ?? item.previousElementSibling;
      item.remove();
      following?.querySelector("button")?.focus();
      desk.speak(`Text ${id}: ${to ?? "left out"}.`);
      await desk.refresh();
    };
    const button = (name, kind, to) => el("button", { type: "button", onclick: () => decide(kind, to) }, name);
    item.append(el("p", { dir: "auto" }, text), el("p", { className: "soft" }, `${id} · ${why} · `,
      button(`keep ${label}`, "label", label), " ", button(`change to ${suggested}`, "label", suggested), " ", button("leave out", "drop", null), " ",
      el("a", { href: "#label", onclick: () => { desk.toLabel = id; } }, "another")));
    return item;
  }

  function update() {
    classes.replaceChildren(...desk.state.classes.map(({ name, texts }) => {
      const to = el("input", { type: "text", value: name, "aria-label": `New name of ${name}` });
      const form = el("form", { className: "naming" }, el("span", {}, `${name}: ${counted(texts, "text")}`), to, el("button", {}, "Rename or join"));
      form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const state = await desk.ask(() => post("/desk/classes", { name, to: to.value, who: person.name }));
        if (state) await desk.refresh(state);
      });
      return el("li", {}, form);
    }));
  }

  return { place, enter, update };
}
