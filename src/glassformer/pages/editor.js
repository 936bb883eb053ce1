// The small dialog at a word: its shares, and buttons to drop it, swap it or put it back.

import { el, wordingOf } from "./dom.js";

let close = () => {};

export function openEditor({ place, button, word, reasons, edit, put, undo }) {
  close();
  const swap = el("input", {
    type: "text", value: edit?.put ?? "", placeholder: `another ${word.column ? "value" : "word"}`, autocomplete: "off",
    dir: "auto", list: word.column?.list ?? "", "aria-label": `Another ${word.column ? "value" : "word"} for ${word.word}`, enterKeyHint: "done",
  });
  const { written } = wordingOf(reasons), { readers } = reasons;
  const shares = readers.length > 1 ? readers.map((name) => `${name} ${written(word[name])}`).join(", ") : written(word.total);
  const act = (what) => () => { what(); close(); };
  const form = el("form", {},
    el("p", {}, el("b", { dir: "auto" }, word.word), " ", el("span", { className: "soft" }, shares)),
    el("div", { className: "row" }, swap, el("button", { type: "submit" }, "Swap")),
    el("div", { className: "row" },
      edit
        ? el("button", { type: "button", onclick: act(undo) }, "Put it back")
        : el("button", { type: "button", onclick: act(() => put("")) }, "Drop it"),
      el("button", { type: "button", className: "quiet", onclick: () => close() }, "Close")));
  const dialog = el("div", { className: "editor", role: "dialog", "aria-label": `The word ${word.word}` }, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (swap.value.trim()) act(() => put(swap.value.trim()))();
    else swap.focus();
  });
  const outside = (event) => { if (!dialog.contains(event.target) && event.target !== button) close(false); };
  const onKey = (event) => { if (event.key === "Escape") close(); };
  document.addEventListener("pointerdown", outside);
  document.addEventListener("keydown", onKey);
  button.setAttribute("aria-expanded", "true");
  close = (back = true) => {
    document.removeEventListener("pointerdown", outside);
    document.removeEventListener("keydown", onKey);
    button.removeAttribute("aria-expanded");
    dialog.remove();
    close = () => {};
    if (back) button.focus();
  };
  place.append(dialog);
  const at = button.getBoundingClientRect(), around = place.getBoundingClientRect();
  const room = around.width - dialog.offsetWidth;
  dialog.style.left = `${Math.max(0, Math.min(at.left - around.left, room))}px`;
  dialog.style.top = `${at.bottom - around.top + 6}px`;
  swap.focus();
}

export function closeEditor() {
  close(false);
}
