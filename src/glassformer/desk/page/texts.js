// All texts, a page at a time: search, filter, and label many at once.

import { counted, el, percent } from "/page/dom.js";
import { get, person, post } from "./server.js";

export function texts(desk) {
  let page = 0, found = { total: 0, texts: [], per_page: 50 }, way = "search";
  const words = el("input", { type: "search", id: "search" }), state = el("select", { id: "state" }), label = el("select", { id: "of-class" });
  state.append(...["all", "open", "labelled", "unsure", "skipped", "dropped"].map((name) => el("option", { value: name }, name)));
  const asked = el("form", { className: "naming", role: "search" },
    el("label", {}, "Search", words), el("label", {}, "Which", state), el("label", {}, "Class", label), el("button", {}, "Search"));
  const all = el("input", { type: "checkbox", id: "all-texts" });
  const list = el("ol", { className: "near-texts" });
  const to = el("input", { id: "bulk", type: "text", autocomplete: "off" });
  to.setAttribute("list", "known-classes");
  const known = el("datalist", { id: "known-classes" });
  const bulk = el("form", { className: "naming" }, el("label", { className: "tick" }, all, "Mark all of these"), el("label", {}, "Label the marked ones as", to), known, el("button", {}, "Label them"));
  const heading = el("h2", {}), back = el("button", { type: "button" }, "← Before"), onward = el("button", { type: "button" }, "Next →");
  const place = el("section", { "aria-label": "Texts" }, asked, heading, bulk, list, el("p", {}, back, " ", onward));

  async function enter() {
    label.replaceChildren(el("option", { value: "" }, "any"), ...desk.state.classes.map(({ name }) => el("option", { value: name }, name)));
    known.replaceChildren(...desk.state.classes.map(({ name }) => el("option", { value: name })));
    if (desk.alike === undefined) return search();
    const like = desk.alike;
    desk.alike = undefined;
    const alike = await desk.ask(() => get(`/desk/alike/${like}`));
    way = "alike";
    if (alike) show({ texts: alike.texts, total: alike.texts.length, per_page: alike.texts.length }, `${counted(alike.texts.length, "text")} like text ${like}, most alike first`);
  }

  async function search() {
    const query = new URLSearchParams({ words: words.value, state: state.value, page, ...(label.value ? { label: label.value } : {}) });
    const answer = await desk.ask(() => get(`/desk/texts?${query}`));
    way = "search";
    if (answer) show(answer, counted(answer.total, "text"));
  }

  function show(answer, said) {
    found = answer;
    all.checked = false;
    heading.textContent = said;
    list.replaceChildren(...answer.texts.map(line));
    back.hidden = way === "alike" || page === 0;
    onward.hidden = way === "alike" || (page + 1) * answer.per_page >= answer.total;
    bulk.hidden = !answer.texts.length;
  }

  function line({ id, text, kind, label: given, note, suggested, probability }) {
    const said = kind === "label" ? given : kind ?? (suggested ? `${suggested}? ${percent(probability)}` : "");
    return el("li", {}, el("label", { className: "tick" }, el("input", { type: "checkbox", value: id, className: "mark" }),
      el("span", { dir: "auto" }, text)), el("p", { className: "soft" }, `${id} · ${[said, note].filter(Boolean).join(" · ")} `,
      el("a", { href: "#label", onclick: () => { desk.toLabel = id; } }, "label")));
  }

  asked.addEventListener("submit", (event) => { event.preventDefault(); page = 0; search(); });
  back.addEventListener("click", () => { page -= 1; search(); });
  onward.addEventListener("click", () => { page += 1; search(); });
  all.addEventListener("change", () => list.querySelectorAll(".mark").forEach((mark) => { mark.checked = all.checked; }));
  bulk.addEventListener("submit", async (event) => {
    event.preventDefault();
    const marked = [...list.querySelectorAll(".mark:checked")].map(({ value }) => Number(value));
    if (!marked.length) return desk.say("Mark some texts first.");
    const kept = await desk.ask(() => post("/desk/decisions", { texts: marked, kind: "label", label: to.value, who: person.name, way }));
    if (!kept) return undefined;
    desk.speak(`${counted(marked.length, "text")} labelled as ${to.value}.`);
    await desk.refresh();
    return way === "alike" ? show({ ...found, texts: found.texts.filter(({ id }) => !marked.includes(id)) }, heading.textContent) : search();
  });
  return { place, enter };
}
