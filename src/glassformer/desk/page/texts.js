// All texts, a page at a time: search, filter, and label many at once.

import { counted, el } from "/page/dom.js";
import { showCommand } from "./commands.js";
import { line } from "./lines.js";
import { ofRepeats } from "./repeats.js";
import { get, lastRound, latest, me, once, person, post, withLevels } from "./server.js";

const STATES = { all: "all", open: "open", labelled: "labelled", wrong: "answered wrongly", missed: "answered without the class", extra: "answered one class too many", unsure: "unsure", skipped: "skipped", dropped: "dropped" };

export function texts(desk) {
  let page = 0, found = { total: 0, texts: [], per_page: 50 }, way = "search", asked = {};
  const newest = latest(), newestTold = latest();
  const words = el("input", { type: "search", id: "search", title: "Put a phrase in double quotes" }), state = el("select", { id: "state" });
  const label = el("select", { id: "of-class" }), answered = el("select", { id: "answered" });
  const byAnswer = el("label", { title: "What the model of the last round answered to texts with a label that it had not learned" }, "Answered", answered);
  state.append(...Object.entries(STATES).map(([value, name]) => el("option", { value }, name)));
  const form = el("form", { className: "naming", role: "search" },
    el("label", {}, "Search", words), el("label", {}, "Which", state), el("label", {}, "Class", label), byAnswer, el("button", {}, "Search"));
  const all = el("input", { type: "checkbox", id: "all-texts" });
  const allSaid = el("span", {}), list = el("ol", { className: "near-texts" });
  const to = el("input", { id: "bulk", type: "text", autocomplete: "off" });
  to.setAttribute("list", "known-classes");
  const known = el("datalist", { id: "known-classes" });
  const bulk = el("form", { className: "naming" }, el("label", { className: "tick" }, all, allSaid), el("label", {}, "Label the marked ones as", to), known, el("button", {}, "Label them"));
  const told = el("p", { className: "soft", role: "status" }); // what that does to other rows
  const done = el("p", { className: "soft", role: "status" });
  const heading = el("h2", {}), back = el("button", { type: "button" }, "← Before"), onward = el("button", { type: "button" }, "Next →");
  const learned = el("div", { hidden: true }), command = el("p", { className: "soft" });
  const apart = el("p", { className: "soft" }, "You see what another person decided about a text once you have labelled it.");
  const place = el("section", { "aria-label": "Texts" }, form, apart, learned, heading, bulk, told, done, list, el("p", {}, back, " ", onward), command);

  async function enter() {
    update();
    if (desk.look !== undefined) {
      [words.value, state.value] = [desk.look.words ?? "", desk.look.state];
      [label.value, answered.value] = [desk.look.label ?? "", desk.look.answered ?? ""];
      desk.look = undefined;
      await search(0);
      return words.focus();
    }
    if (desk.alike === undefined) return search();
    const like = desk.alike;
    desk.alike = undefined;
    const alike = await newest(desk.ask(() => get(`/desk/alike/${like}?${me()}`)));
    if (!alike) return;
    way = "alike";
    show({ texts: alike.texts, total: alike.texts.length, per_page: alike.texts.length }, `${counted(alike.texts.length, "text")} like text ${like}, most alike first`);
    learned.hidden = !alike.labelled.length;
    learned.replaceChildren(el("h2", {}, `Labelled texts like text ${like}: the model learns from them`), el("ol", { className: "near-texts" }, ...alike.labelled.map((text) => el("li", {}, ...line(desk, { ...text, kind: "label" })))));
  }

  const offer = once(([names, between]) => {
    const offered = withLevels(names, between);
    for (const select of [label, answered]) {
      const chosen = select.value;
      select.replaceChildren(el("option", { value: "" }, "any"), ...offered.map((name) => el("option", { value: name }, names.includes(name) ? name : `${name}…`)));
      select.value = offered.includes(chosen) ? chosen : "";
    }
    known.replaceChildren(...names.map((name) => el("option", { value: name })));
  });
  function update() {
    for (const option of state.options) option.hidden = ["missed", "extra"].includes(option.value) && desk.state.panel !== "classes";
    byAnswer.hidden = !desk.state.classes.length || !lastRound(desk.state);
    showCommand(command, "As a command, once the desk is closed, all labels and decisions as tables", ["desk", "--project", desk.state.project, "--export", `${desk.state.project}/exported`]);
    apart.hidden = !person.blind && !desk.state.twice;
    offer([desk.state.classes.map(({ name }) => name), desk.state.levels]);
  }

  function changed() {
    if (way !== "alike" && !list.querySelector(".mark:checked")) search();
  }

  async function search(at = page) {
    const wanted = { ...person.viewer, words: words.value, state: state.value, ...(label.value ? { label: label.value } : {}), ...(answered.value ? { answered: answered.value } : {}) };
    const answer = await newest(desk.ask(() => get(`/desk/texts?${new URLSearchParams({ ...wanted, page: at })}`)));
    if (!answer) return;
    [asked, page] = [wanted, at]; // now, and not before: all that is marked is all of what is on the screen
    way = asked.state === "labelled" && desk.state.classes.some(({ name }) => name === asked.label) ? "class" : "search"; // a class is split: one person decides for all
    show(answer, counted(answer.total, "text"));
  }

  function show(answer, said) {
    found = answer;
    learned.hidden = true;
    all.checked = false;
    heading.textContent = said;
    allSaid.textContent = `Mark all ${counted(answer.total, "text")}`;
    list.replaceChildren(...answer.texts.map((text) => el("li", {}, ...line(desk, text, { mark: el("input", { type: "checkbox", value: text.id, className: "mark" }) }))));
    back.hidden = way === "alike" || page === 0;
    onward.hidden = way === "alike" || (page + 1) * answer.per_page >= answer.total;
    bulk.hidden = !answer.texts.length;
    tell();
  }

  const marked = () => [...list.querySelectorAll(".mark:checked")].map(({ value }) => Number(value));
  const allFound = () => all.checked && way !== "alike"; // those on other pages too, but no other rows

  /** Says before it happens what labelling the marked texts does to other rows with the same text. */
  async function tell() {
    const texts = allFound() ? [] : marked();
    const asked = me();
    texts.forEach((id) => asked.append("texts", id));
    const answer = await newestTold(texts.length ? desk.ask(() => get(`/desk/repeats?${asked}`), { aside: true }) : { repeats: 0, labels_of_repeats: [] });
    if (answer) told.textContent = ofRepeats(desk, answer, { ofMany: texts.length > 1, forAll: way === "class", beside: way !== "class" && desk.state.panel === "classes" });
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); done.textContent = ""; search(0); });
  back.addEventListener("click", () => search(page - 1));
  onward.addEventListener("click", () => search(page + 1));
  list.addEventListener("change", () => { all.checked = false; tell(); });
  all.addEventListener("change", () => {
    list.querySelectorAll(".mark").forEach((mark) => { mark.checked = all.checked; });
    tell();
  });
  bulk.addEventListener("submit", async (event) => {
    event.preventDefault();
    const texts = marked();
    if (!texts.length) return desk.say("Mark some texts first.");
    const low = to.value.trim().toLowerCase(), names = desk.state.classes.map(({ name }) => name);
    const given = names.find((name) => name.toLowerCase() === low) ?? to.value; // as at the step Label
    const meant = allFound() ? { found: asked } : { texts };
    const kept = await desk.ask(() => post("/desk/decisions", { ...meant, kind: "label", label: given, beside: true, instead: way === "class" ? asked.label : null, who: person.name, way }));
    if (!kept) return undefined;
    const isNew = desk.state.panel === "class" && !names.includes(given);
    done.textContent = `${counted(kept.texts, "text")} labelled as ${given}${isNew ? ", a new class" : ""}. ← at the step Label undoes it.`;
    await desk.refresh();
    return way === "alike" ? show({ ...found, texts: found.texts.filter(({ id }) => !texts.includes(id)) }, heading.textContent) : search();
  });
  return { place, enter, update, changed };
}
