// What every page has, also one that is a single file.

/** Builds an element. Texts only ever become text nodes, so nothing in them is read as HTML. */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || ["role", "scope", "for", "list"].includes(key)) element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A share. One that is not the whole is not shown as the whole. */
export function percent(share) {
  const shown = (100 * share).toFixed(1);
  if (shown === "100.0" && share < 1) return "> 99.9%";
  return shown === "0.0" && share > 0 ? "< 0.1%" : `${shown}%`;
}

/** A probability of a model. None is certain, also where rounding leaves a 1 or a 0. */
export const chance = (probability) => percent(Math.min(Math.max(probability, Number.MIN_VALUE), 1 - Number.EPSILON));
