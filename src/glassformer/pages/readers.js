// What each reader adds to the margin, or to a number: to the right for the answer, to the left against it.

import { el, inUnit, said, short, signed } from "./dom.js";

export function drawReaders({ answer, changed, model }) {
  const now = changed ?? answer;
  if (!now?.readers || now.prediction === null) return null;
  const readers = Object.entries(now.readers).filter(([name, value]) => value || name === "counting");
  const title = el("h3", {}, readers.length === 2 ? "Two readers" : "Its readers");
  const silent = model.asked.includes("transformer") ? null
    : el("p", { className: "soft" }, "Its transformer is not asked: no held-out rows showed that it helps.");
  if (silent && model.asked.length === 1) {
    return el("div", {}, title, el("p", {}, `The model answers by ${readers[0][0]} alone.`), silent);
  }
  const written = model.target ? inUnit(Object.values(now.readers)) : signed;
  const most = Math.max(...readers.map(([, value]) => Math.abs(value)), 1e-9);
  return el("div", {}, title,
    el("ul", { className: "bars sides" }, ...readers.map(([name, value]) => side(name, value / most, written(value)))),
    el("p", { className: "soft" }, model.target
      ? `What each adds to ${short(model.base)}, from which all answers start.` : sentence(readers, now, model)), silent);
}

function side(name, share, value) {
  const drawn = el("span", { className: `side ${share < 0 ? "against" : "for"}`, "aria-hidden": "true" });
  drawn.style.setProperty("--share", Math.abs(share));
  return el("li", {}, el("span", { className: "name" }, name), drawn, el("span", { className: "value" }, value));
}

function sentence(readers, answer, model) {
  const label = model.multilabel ? "this answer" : said(answer.prediction);
  const named = (some) => new Intl.ListFormat("en").format(some.map(([name]) => (name === "counting" ? name : `the ${name}`)));
  const speak = (some) => `${some.length > 1 ? "speak" : "speaks"}`;
  const [good, bad] = [readers.filter(([, value]) => value >= 0), readers.filter(([, value]) => value < 0)];
  if (!good.length || !bad.length) return `${readers.length > 2 ? "All" : "Both"} speak ${bad.length ? "against" : "for"} ${label}.`;
  const all = `${named(good)} ${speak(good)} for ${label}, ${named(bad)} against it.`;
  return `${all[0].toUpperCase()}${all.slice(1)}`;
}
