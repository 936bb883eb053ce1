// A text whose words are buttons, and the colours of shares: filled for the answer, hatched against it.

import { el } from "./dom.js";

const DEEPEST = 50; // per cent of the colour, behind text that must stay readable

/** Adds a text to an element, each word as a button. Returns the buttons. */
export function appendWords(place, text, words) {
  const points = Array.from(text); // the server counts code points
  let end = 0;
  const buttons = words.map((word, number) => {
    const button = el("span", { role: "button", tabIndex: number ? -1 : 0 }, word.word);
    place.append(points.slice(end, word.start).join(""), button);
    end = word.end;
    return button;
  });
  place.append(points.slice(end).join(""));
  return buttons;
}

/** Colours an element. `part` goes from -1, most against the answer, to 1, most for it. */
export function colour(element, part) {
  const strength = Math.abs(part) * DEEPEST;
  element.classList.toggle("for", part > 0 && strength >= 1);
  element.classList.toggle("against", part < 0 && strength >= 1);
  element.style.setProperty("--share", `${strength.toFixed(0)}%`);
}
