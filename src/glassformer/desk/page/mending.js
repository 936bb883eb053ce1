// Doubtful labels, most doubtful first; and the classes: rename one, join two, or split one.

import { counted, el } from "/page/dom.js";
import { ofLabels, showCommand } from "./commands.js";
import { get, lastRound, once, person, post, withLevels } from "./server.js";

const sum = (classes) => classes.reduce((total, { texts }) => total + texts, 0);

export function mending(desk) {
  let going = false; // whether a decision is being kept
  const doubts = el("ol", { className: "near-texts" }), heading = el("h2", {}, "Doubtful labels");
  const said = el("p", { className: "soft" }), classes = el("ul", { className: "near-texts" }), notes = el("ul", { className: "notes" });
  const different = el("ol", { className: "near-texts" }), agreed = el("p", {});
  const command = el("p", { className: "soft" });
  const order = el("p", { className: "soft" }, "The first class is the lowest. ↑ changes the order.");
  const people = el("div", { hidden: true }, el("h2", {}, "Different labels"), agreed, different);
  const place = el("section", { "aria-label": "Mend" }, people, heading, said, doubts, el("h2", {}, "Classes"),
    notes, order, el("p", { className: "soft" }, "Give a class another name. If that name is another class, the two are joined. To split a class, mark some of its texts and label them anew. ← on the step Label undoes it."), classes, command);

  let listed; // the number of the last round when doubts were listed: labels are checked at its end

  async function enter() {
    await Promise.all([list(), update()]);
  }

  async function list() {
    listed = lastRound(desk.state)?.number;
    const [found, labels] = await Promise.all(["doubts", "disagreements"].map((name) => desk.ask(() => get(`/desk/${name}`), { aside: true })));
    if (!found || !labels) return;
    redraw(different, labels.disagreements.map(disputed));
    said.textContent = [checked(lastRound(desk.state) ?? {}, found.doubts.length, found.settled), found.doubts.length
      ? `${counted(found.doubts.length, "label")}: a model that has not seen ${found.doubts.length === 1 ? "this text" : "these texts"}, or another row with the same text, gives another label. Many are right as they are. The report of a round asks its own model, and doubts others.` : ""].filter(Boolean).join(" ");
    redraw(doubts, found.doubts.map(doubtful));
  }

  /** What the last check found. `more` is kept of each that could be done. */
  function checked({ more, unchecked }, doubted, settled) {
    if (unchecked) return `Labels could not be checked: ${unchecked}.${doubted ? " What an earlier check doubts:" : ""}`;
    if (doubted) return "";
    if (settled) return "Nothing is left of what the last check doubted. The next round of training checks again.";
    return more === undefined ? "Not checked yet. Labels are checked after each round of training." : "The last check doubts none. The next round of training checks again.";
  }

  /** Draws a list anew. If one of its items has the focus, the item that is then in its place gets it. */
  function redraw(drawn, items) {
    const at = [...drawn.children].findIndex((item) => item.contains(document.activeElement));
    drawn.replaceChildren(...items);
    if (at >= 0) (drawn.children[at] ?? drawn.lastElementChild)?.querySelector("button")?.focus();
  }

  /** Makes buttons that decide about a text. It is then gone from its list, and so is what it contradicted. */
  function deciding(id, way) {
    const decide = async (kind, to) => {
      if (going) return;
      going = true;
      const kept = await desk.ask(() => post("/desk/decisions", { texts: [id], kind, label: to, who: person.name, way, shown: true }));
      if (kept) {
        desk.speak(`Text ${id}: ${desk.labelOf(to) ?? "left out"}.`);
        await Promise.all([list(), desk.refresh()]);
      }
      going = false;
    };
    return (name, kind, to) => el("button", { type: "button", onclick: () => decide(kind, to) }, name);
  }

  function disputed({ id, text, labels }) {
    const button = deciding(id, "settle");
    const given = [...new Set(labels.map(({ label }) => label))];
    return el("li", {}, el("p", { dir: "auto" }, text),
      el("p", { className: "soft" }, `${id} · ${labels.map(({ who, label, note }) => `${who}: ${desk.labelOf(label)}${note ? ` (${note})` : ""}`).join(" · ")} `),
      el("p", {}, ...given.flatMap((label) => [button(desk.labelOf(label), "label", label), " "]), button("leave out", "drop", null)));
  }

  function doubtful({ id, why, suggested, other, text: { text, label } }) {
    const button = deciding(id, "doubt");
    const others = new Set([suggested, other?.label].filter((each) => each !== label && (each ?? null) !== null));
    return el("li", {}, el("p", { dir: "auto" }, text),
      other ? el("p", { className: "soft", dir: "auto" }, `Text ${other.id}, labelled ${desk.labelOf(other.label)}: ${other.text}`) : "",
      el("p", { className: "soft" }, `${id} · ${why} · `,
        button(`keep ${desk.labelOf(label)}`, "label", label), " ", ...[...others].flatMap((each) => [button(`change to ${desk.labelOf(each)}`, "label", each), " "]), button("leave out", "drop", null), " ",
        el("a", { href: "#label", onclick: () => { desk.toLabel = id; } }, "another")));
  }

  function update() {
    const { agreement } = desk.state, shown = (figure) => (figure === null ? "–" : figure.toFixed(2));
    people.hidden = !agreement;
    order.hidden = !desk.state.ordered;
    if (agreement) agreed.textContent = `${counted(agreement.texts, "text")} labelled by two or more. ${agreement.pairs.map(({ people: [one, other], texts, same, kappa }) =>
      `${one} and ${other} agree on ${same} of ${texts} (Cohen's kappa ${shown(kappa)}).`).join(" ")} Krippendorff's alpha of all: ${shown(agreement.alpha)}. Texts with different labels are not learned until you settle them.`;
    showCommand(command, "As a command, what is doubtful among the labels of the last round", ofLabels(desk.state));
    const unread = desk.state.rules_waiting.length, ofRules = unread ? [`${counted(unread, "rule")} ${unread === 1 ? "is" : "are"} not read: the step Train says why`] : [];
    notes.replaceChildren(...[...desk.state.class_notes, ...ofRules].map((note) => el("li", {}, note)));
    drawClasses([desk.state.classes, desk.state.levels]);
    if (lastRound(desk.state)?.number !== listed) return list();
    return undefined;
  }

  async function change(body) {
    const state = await desk.ask(() => post("/desk/classes", { ...body, who: person.name }));
    if (state) await Promise.all([list(), desk.refresh(state)]);
  }

  const drawClasses = once(([all, between]) => {
    const counts = new Map(all.map(({ name, texts }) => [name, texts]));
    redraw(classes, withLevels([...counts.keys()], between).map((name, at, names) => {
      const isClass = counts.has(name), shown = isClass ? name : `${name}…`; // else all classes below a level
      const texts = isClass ? counts.get(name) : sum(all.filter((each) => `${each.name}${between}`.startsWith(name)));
      const to = el("input", { type: "text", value: isClass ? name : name.slice(0, -between.length), "aria-label": `New name of ${shown}` });
      const form = el("form", { className: "naming" }, el("span", {}, `${shown}: ${counted(texts, "text")}`), to, el("button", {}, "Rename or join"),
        el("a", { href: "#texts", "aria-label": `Split ${shown}`, onclick: () => { desk.look = { state: "labelled", label: name }; } }, "Split"),
        desk.state.ordered && at ? el("button", { type: "button", "aria-label": `${name} comes earlier`, onclick: () => change({ name, before: names[at - 1] }) }, "↑") : "");
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        change({ name, to: to.value });
      });
      return el("li", {}, form);
    }));
  });

  return { place, enter, update, changed: list };
}
