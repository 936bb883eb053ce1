
// The page: every matrix as a table of which a part is shown, and the arithmetic of the number that is pointed at.

const trace = JSON.parse(document.getElementById("trace-data").textContent);
const matrices = Object.fromEntries(trace.matrices.map((matrix) => [matrix.name, matrix]));
const view = { block: 0, head: 0, gradients: false, pointed: null, pinned: null };
const ROWS = 8, STRONGEST = 5, MOST_OF_EXERCISE = 64;

// Numbers are unpacked when they are first needed.
function unpacked(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  return new Float32Array(bytes.buffer);
}
function unpackLater(matrix, key, text) {
  let numbers = null;
  Object.defineProperty(matrix, key, { get: () => (numbers ??= text === null ? null : unpacked(text)) });
}
for (const matrix of trace.matrices) {
  for (const key of ["values", "gradient"]) unpackLater(matrix, key, matrix[key]);
  matrix.start = [0, 0]; // the first row and column that are shown
}

const count = (value) => value.toLocaleString("en");
const minus = (text) => text.replace("-", "−");
const short = (value, digits) => (value === -Infinity ? "−∞" : minus(value.toFixed(digits)));
const long = (value) => (value === -Infinity ? "−∞" : minus(String(Number(value.toPrecision(5)))));
const same = (a, b) => a.length === b.length && a.every((index, axis) => index === b[axis]);
const blank = (matrix, cell) =>
  trace.exercise.find((each) => !each.done && each.name === matrix.name && same(each.cell, cell));

// How an index is written: the token, the class, or a number from 1.
function written(matrix, axis, index) {
  const names = trace.axes[matrix.axes[axis]];
  return names && names.length > index ? names[index] : String(index + 1);
}
const address = (matrix, cell) => `${matrix.name}[${cell.map((index, axis) => written(matrix, axis, index)).join(", ")}]`;
const axisName = (matrix, axis) => matrix.axes.at(axis) ?? "";

// --- A matrix as a table ---------------------------------------------------------------------------------------------

const size = (matrix) => [matrix.shape.length > 1 ? matrix.shape.at(-2) : 1, matrix.shape.at(-1)];
const heads = (matrix) => (matrix.shape.length > 2 ? [Math.min(view.head, matrix.shape[0] - 1)] : []);
const cellAt = (matrix, i, j) => (matrix.shape.length > 1 ? [...heads(matrix), i, j] : [j]);
const named = (matrix) => matrix.shape.length > 1; // whether its rows have names
const columnsThatFit = (matrix) => Math.max(2, Math.floor((matrix.figure.clientWidth - (named(matrix) ? 110 : 10)) / 72));

function draw(matrix) {
  const { grid, windows } = matrix;
  if (!matrix.figure?.isConnected || matrix.figure.open === false) return;
  const shown = [ROWS, columnsThatFit(matrix)], total = size(matrix);
  matrix.shown = shown;
  matrix.start = matrix.start.map((start, axis) => Math.max(0, Math.min(start, total[axis] - shown[axis])));
  windows.replaceChildren(...[0, 1].map((axis) => slider(matrix, axis, shown[axis], total[axis])));
  const values = view.gradients ? matrix.gradient : matrix.values;
  if (!values) return grid.replaceChildren(el("caption", { className: "none" }, "No gradient: the backward pass does not reach these numbers."));
  const most = values.reduce((top, value) => (Number.isFinite(value) ? Math.max(top, Math.abs(value)) : top), 0) || 1;
  const digits = matrix.name === "token_ids" ? 0 : most < 0.01 ? 5 : most < 0.1 ? 4 : most < 1 ? 3 : 2;
  const ends = matrix.start.map((start, axis) => Math.min(total[axis], start + shown[axis]));
  const columns = range(matrix.start[1], ends[1]);
  const last = matrix.shape.length - 1;
  const head = el("tr", {}, named(matrix) ? el("td") : null, ...columns.map((j) => el("th", { scope: "col", title: written(matrix, last, j) }, written(matrix, last, j))));
  const body = range(matrix.start[0], ends[0]).map((i) => {
    const name = named(matrix) ? el("th", { scope: "row", title: written(matrix, last - 1, i) }, written(matrix, last - 1, i)) : null;
    return el("tr", {}, name, ...columns.map((j) => cell(matrix, values, { most, digits }, i, j)));
  });
  grid.classList.toggle("narrow", total[1] <= 4); // few columns have room for their names
  grid.replaceChildren(el("thead", {}, head), el("tbody", {}, ...body));
}
const range = (from, to) => Array.from({ length: to - from }, (_, index) => from + index);

function cell(matrix, values, { most, digits }, i, j) {
  const at = cellAt(matrix, i, j), value = values[flat(matrix, at)], asked = view.gradients ? null : blank(matrix, at);
  const first = i === matrix.start[0] && j === matrix.start[1];
  const element = el("td", { tabIndex: first && !asked ? 0 : -1 }, asked ? question(matrix, at, asked) : short(value, digits));
  if (!asked && Number.isFinite(value)) element.style.setProperty("--share", `${Math.round(22 * Math.abs(value) / most)}%`);
  element.dataset.place = `${i},${j}`;
  return element;
}

// "columns 1–8 of 128", with buttons. Nothing if all is shown.
function slider(matrix, axis, shown, total) {
  if (shown >= total) return "";
  const from = matrix.start[axis], name = axisName(matrix, axis - 2);
  const move = (to, focus) => {
    matrix.start[axis] = to;
    draw(matrix);
    highlight();
    matrix.windows.children[axis]?.querySelector(focus)?.focus();
  };
  const input = el("input", { type: "range", min: 0, max: total - shown, value: from, "aria-label": `${matrix.title}: first of the ${name} shown` });
  input.addEventListener("input", () => move(Number(input.value), "input"));
  const button = (text, label, by) => {
    const made = el("button", { type: "button", className: label, "aria-label": `${label} ${name}`, disabled: by < 0 ? from === 0 : from + shown >= total }, text);
    made.addEventListener("click", () => move(from + by * shown, `.${label}`));
    return made;
  };
  return el("span", { className: "part" }, button("‹", "earlier", -1), input, button("›", "later", 1),
    ` ${"↓→"[axis]} ${name} ${count(from + 1)}–${count(from + shown)} of ${count(total)}`);
}

function figure(matrix) {
  const shape = matrix.shape.map((length, axis) => `${count(length)} ${matrix.axes[axis]}`).join(" × ");
  const weight = matrix.operation === "weight";
  const from = matrix.inputs.filter((name) => matrices[name]).flatMap((name, index) => [index ? ", " : "", jump(matrices[name], null, name)]);
  matrix.grid = el("table", { className: "grid", "aria-label": `${matrix.title}: numbers` });
  matrix.windows = el("div", { className: "windows" });
  const about = el("p", { className: "about" }, el("span", { className: "formula" }, matrix.formula), ` · ${shape}`, from.length ? " · from " : "", ...from);
  const inside = [about, matrix.operation === "same" ? null : matrix.windows, matrix.operation === "same" ? null : el("div", { className: "sideways" }, matrix.grid)];
  const made = weight
    ? el("details", { className: "matrix weight" }, el("summary", {}, el("code", {}, matrix.name), ` ${shape}`), ...inside)
    : el("figure", { className: "matrix" }, el("h3", {}, matrix.title, " ", el("code", {}, matrix.name)), ...inside);
  matrix.figure = made;
  if (weight) made.addEventListener("toggle", () => made.open && (draw(matrix), highlight()));
  listen(matrix);
  return made;
}

function listen(matrix) {
  const place = (event) => {
    const td = event.target.closest("td[data-place]");
    return td && { matrix, cell: cellAt(matrix, ...td.dataset.place.split(",").map(Number)) };
  };
  const { grid } = matrix;
  const filling = () => document.activeElement.matches(".grid input"); // the mouse may rest anywhere
  grid.addEventListener("pointerover", (event) => event.pointerType === "mouse" && !filling() && point(place(event)));
  grid.addEventListener("pointerleave", () => !filling() && point(null));
  grid.addEventListener("focusin", (event) => point(place(event)));
  grid.addEventListener("click", (event) => event.target.tagName !== "INPUT" && pin(place(event)));
  grid.addEventListener("keydown", (event) => keys(event, matrix));
}

function keys(event, matrix) {
  const td = event.target.closest("td[data-place]");
  if (!td || event.target.tagName === "INPUT") return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    return pin({ matrix, cell: cellAt(matrix, ...td.dataset.place.split(",").map(Number)) });
  }
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!by) return;
  event.preventDefault();
  const total = size(matrix);
  const [i, j] = td.dataset.place.split(",").map((index, axis) => Math.max(0, Math.min(total[axis] - 1, Number(index) + by[axis])));
  show(matrix, i, j);
  const next = matrix.grid.querySelector(`td[data-place="${i},${j}"]`);
  (next?.querySelector("input") ?? next)?.focus();
}

// Moves the part that is shown, so that it holds a cell.
function show(matrix, i, j) {
  if (!matrix.shown) return;
  const moved = [i, j].map((index, axis) => {
    const start = matrix.start[axis], shown = matrix.shown[axis];
    return index < start ? index : index >= start + shown ? index - shown + 1 : start;
  });
  if (!same(moved, matrix.start)) {
    matrix.start = moved;
    draw(matrix);
    highlight();
  }
}

// --- Where a number comes from ---------------------------------------------------------------------------------------

function point(target) {
  view.pointed = target;
  highlight();
}

function pin(target) {
  if (!target) return;
  view.pinned = view.pinned && view.pinned.matrix === target.matrix && same(view.pinned.cell, target.cell) ? null : target;
  if (view.pinned && !view.gradients) {
    for (const [from, cells] of sources(matrices, target.matrix, target.cell).groups) {
      if (from?.figure?.isConnected && cells.length) show(from, ...lastTwo(from, cells[0]));
    }
  }
  highlight();
}
const lastTwo = (matrix, at) => (matrix.shape.length > 1 ? at.slice(-2) : [0, at[0]]);

function highlight() {
  document.querySelectorAll(".grid .source, .grid .chosen").forEach((td) => td.classList.remove("source", "chosen"));
  const target = view.pinned ?? view.pointed;
  panel(target);
  if (!target) return;
  mark(target.matrix, target.cell, "chosen");
  if (view.gradients) return;
  for (const [from, cells] of sources(matrices, target.matrix, target.cell).groups) {
    if (from) cells.forEach((at) => mark(from, at, "source"));
  }
}

function mark(matrix, at, kind) {
  if (matrix.shape.length > 2 && at[0] !== heads(matrix)[0]) return;
  const [i, j] = lastTwo(matrix, at);
  matrix.grid?.querySelector(`td[data-place="${i},${j}"]`)?.classList.add(kind);
}

// A button that goes to a matrix, and to a cell of it.
function jump(matrix, at, text) {
  const button = el("button", { type: "button", className: "jump" }, text);
  button.addEventListener("click", () => go(matrix, at));
  return button;
}

function go(matrix, at) {
  const head = matrix.shape.length > 2 && at ? at[0] : view.head;
  if ((matrix.block ?? view.block) !== view.block || head !== view.head) {
    view.block = matrix.block ?? view.block;
    view.head = head;
    redraw();
  }
  if (matrix.figure.open === false) {
    matrix.figure.open = true;
    draw(matrix);
  }
  view.pinned = at && !blank(matrix, at) ? { matrix, cell: at } : null;
  if (at) show(matrix, ...lastTwo(matrix, at));
  matrix.figure.scrollIntoView({ block: "center" });
  const [i, j] = at ? lastTwo(matrix, at) : matrix.start;
  const td = matrix.grid.querySelector(`td[data-place="${i},${j}"]`);
  (td?.querySelector("input") ?? td)?.focus({ preventScroll: true });
  highlight();
}

const explained = el("aside", { id: "panel", "aria-live": "polite", hidden: true });

function panel(target) {
  explained.hidden = !target;
  if (!target) return;
  const filled = blank(target.matrix, target.cell) && !view.gradients;
  explained.classList.toggle("passing", !view.pinned && !filled); // clicks go to the numbers below
  const { matrix, cell } = target;
  const close = el("button", { type: "button", className: "close", "aria-label": "Let go of this number" }, "×");
  close.addEventListener("click", () => { view.pinned = view.pointed = null; highlight(); });
  const head = el("p", {}, el("strong", {}, address(matrix, cell)), view.pinned || filled ? close : null);
  if (view.gradients) {
    const gradient = matrix.gradient ? long(matrix.gradient[flat(matrix, cell)]) : "none";
    return explained.replaceChildren(head, el("p", {}, `Gradient ${gradient}: how the margin grows with this number, for each 1 that it grows, as long as the change is small.`));
  }
  const asked = blank(matrix, cell), found = sources(matrices, matrix, cell);
  head.append(asked ? " = ? " : ` = ${long(number(matrix, cell))} `, el("span", { className: "formula" }, matrix.formula));
  explained.replaceChildren(head, el("p", {}, ...(found.zero ? [found.zero] : terms(matrix, found))));
}

const value = (matrix, at) => {
  const asked = blank(matrix, at);
  return jump(matrix, at, asked ? "?" : long(number(matrix, at)));
};

// The numbers of the arithmetic; of many, those with the largest part in it, and how many more there are.
function terms(matrix, found) {
  const [left, right, added] = found.groups;
  if (found.groups.some(([from]) => !from)) return ["The weights of this step are not in the page."];
  if (found.pairs) {
    const products = left[1].map((at, index) => [at, right[1][index], number(left[0], at) * number(right[0], right[1][index])]);
    const strongest = products.toSorted((a, b) => Math.abs(b[2]) - Math.abs(a[2])).slice(0, STRONGEST);
    const rest = sum(products.map((each) => each[2])) - sum(strongest.map((each) => each[2]));
    const shown = strongest.flatMap(([a, b], index) => [index ? " + " : "", value(left[0], a), " × ", value(right[0], b)]);
    const others = products.length - strongest.length;
    return [found.factor === 1 ? "= " : `= ${long(found.factor)} · (`, ...shown,
      others > 0 ? ` + ${long(rest)} from ${count(others)} other product${others > 1 ? "s" : ""}` : "", found.factor === 1 ? "" : ")",
      ...(added ? [" + ", value(added[0], added[1][0])] : [])];
  }
  return ["from ", ...found.groups.flatMap(([from, cells], index) => {
    const most = trace.exercise.length ? MOST_OF_EXERCISE : 2 * STRONGEST; // an exercise needs them all
    const shown = cells.slice(0, most).flatMap((at) => [value(from, at), " "]);
    return [index ? " · " : "", el("code", {}, from.name), " ", ...shown, cells.length > most ? `and ${count(cells.length - most)} more` : ""];
  })];
}

// --- The exercise ----------------------------------------------------------------------------------------------------

function question(matrix, at, asked) {
  const input = el("input", { inputMode: "decimal", value: asked.typed ?? "", "aria-label": `Your number for ${address(matrix, at)}` });
  const check = () => {
    if (!input.value.trim()) return;
    asked.typed = input.value;
    const typed = Number(input.value.trim().replace("−", "-").replace(",", "."));
    const truth = number(matrix, at);
    asked.right = Math.abs(typed - truth) <= Math.max(0.006, 0.01 * Math.abs(truth));
    input.classList.toggle("wrong", !asked.right);
    asked.done = asked.right;
    score(asked.right ? `Right: ${address(matrix, at)} is ${long(truth)}.` : `Not yet: ${address(matrix, at)} is not ${input.value}.`);
    if (asked.right) {
      const had = document.activeElement === input;
      draw(matrix);
      highlight();
      if (had) go(matrix, at);
    }
  };
  input.addEventListener("change", check);
  return input;
}

const scored = el("div", { id: "score", role: "status" });

function score(message = "") {
  if (!trace.exercise.length) return;
  const right = trace.exercise.filter((each) => each.done && each.right).length;
  const links = trace.exercise.map((each, index) => {
    const made = jump(matrices[each.name], each.cell, String(index + 1));
    made.setAttribute("aria-label", `Blank ${index + 1}: ${address(matrices[each.name], each.cell)}${each.done ? ", done" : ""}`);
    if (each.done) made.classList.add(each.right ? "right" : "shown");
    return made;
  });
  const reveal = el("button", { type: "button", className: "jump" }, "show the rest");
  reveal.addEventListener("click", () => {
    trace.exercise.forEach((each) => { each.done = true; });
    redraw();
    score();
  });
  scored.replaceChildren(`${count(trace.exercise.length)} numbers are blank: `, ...links.flatMap((link) => [link, " "]),
    `${right} of ${trace.exercise.length} right. `, right < trace.exercise.length ? reveal : "All of them. ", " ", message);
}

// --- Controls --------------------------------------------------------------------------------------------------------

function choice(label, key, total) {
  if (total < 2) return null;
  const shown = el("output"), input = el("input", { type: "range", min: 1, max: total, id: `choose-${key}` });
  input.addEventListener("input", () => {
    view[key] = Number(input.value) - 1;
    redraw();
  });
  const follow = () => {
    input.value = view[key] + 1;
    shown.textContent = `${view[key] + 1} of ${total}`;
  };
  following.push(follow);
  return el("span", {}, el("label", { for: input.id }, label), " ", input, " ", shown);
}
const following = [];

function redraw() {
  const stage = document.getElementById("stage-block");
  if (stage) {
    stage.replaceChildren(...trace.matrices.filter((matrix) => matrix.block === view.block).map(figure));
    const heading = stage.parentElement.querySelector("h2");
    heading.textContent = blocks > 1 ? `Block ${view.block + 1} of ${blocks}` : "The block";
  }
  following.forEach((follow) => follow());
  trace.matrices.forEach(draw);
  highlight();
}

const blocks = 1 + Math.max(...trace.matrices.map((matrix) => matrix.block ?? 0));
const mostHeads = Math.max(...trace.matrices.map((matrix) => (matrix.shape.length > 2 ? matrix.shape[0] : 0)));
const gradients = el("input", { type: "checkbox", id: "gradients" });
gradients.addEventListener("change", () => {
  view.gradients = gradients.checked;
  redraw();
});
document.getElementById("controls").append(el("div", { className: "choices" },
  choice("Block", "block", blocks), choice("Head", "head", mostHeads),
  el("span", {}, gradients, " ", el("label", { for: "gradients" }, "Gradients instead of numbers"))), scored);
document.querySelector("main").prepend(document.getElementById("controls"));
document.body.append(explained);
for (const matrix of trace.matrices.filter((each) => each.block === null)) {
  document.getElementById(`stage-${matrix.stage}`).append(figure(matrix));
}
redraw();
score();
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) redraw();
  width = innerWidth;
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    view.pinned = view.pointed = null;
    highlight();
  }
});
