// The page of a time-lapse: a slider over the snapshots moves the loss, the answers, the attention and the words.

const lapse = JSON.parse(document.getElementById("lapse-data").textContent);
const last = lapse.steps.length - 1;
const view = { at: 0, text: 0, block: 0, cell: null };
const SECONDS = 0.8;

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const $ = (id) => document.getElementById(id);
const count = (value) => value.toLocaleString("en");

// --- The slider ------------------------------------------------------------------------------------------------------

const play = el("button", { type: "button", id: "play" }, "Play");
const slider = el("input", { type: "range", id: "snapshot", min: 0, max: last, value: 0, "aria-label": "Snapshot" });
const now = el("output", { for: "snapshot" });
document.querySelector("nav").after(el("div", { id: "controls" }, play, slider, now));
let timer = null;

function stop() {
  clearInterval(timer);
  timer = null;
  play.textContent = "Play";
}
play.addEventListener("click", () => {
  if (timer !== null) return stop();
  if (view.at === last) show(0);
  play.textContent = "Pause";
  timer = setInterval(() => {
    show(view.at + 1);
    if (view.at === last) stop();
  }, 1000 * SECONDS);
});
slider.addEventListener("input", () => {
  stop();
  show(Number(slider.value));
});

function show(at) {
  view.at = Math.min(at, last);
  slider.value = view.at;
  const step = lapse.steps[view.at];
  now.textContent = step ? `after step ${count(step)}` : "before any step";
  slider.setAttribute("aria-valuetext", now.textContent);
  moveMarker();
  drawAnswers();
  drawMaps();
  moveWords();
}

// --- The loss --------------------------------------------------------------------------------------------------------

const names = Object.keys(lapse.losses);
const narrow = innerWidth < 640;
const curve = { width: narrow ? 360 : 900, height: 240, left: 46, right: 14, top: 12, bottom: 34 };
const most = Math.max(...names.flatMap((name) => lapse.losses[name].filter((loss) => loss !== null)), 0.01) * 1.05;
const across = (step) => curve.left + ((curve.width - curve.left - curve.right) * step) / Math.max(1, lapse.steps[last]);
const up = (loss) => curve.height - curve.bottom - ((curve.height - curve.top - curve.bottom) * loss) / most;
const marker = svg("line", { class: "now", x1: 0, x2: 0, y1: curve.top, y2: curve.height - curve.bottom });
const dots = names.map((_, number) => svg("circle", { class: `dot ${number ? "second" : "first"}`, r: 5 }));

function drawCurve() {
  const picture = svg("svg", { viewBox: `0 0 ${curve.width} ${curve.height}`, role: "img", "aria-label": "Loss by step" });
  for (const share of [0, 0.5, 1]) {
    const y = up((share * most) / 1.05);
    picture.append(svg("line", { class: "grid", x1: curve.left, x2: curve.width - curve.right, y1: y, y2: y }));
    picture.append(svg("text", { class: "end", x: curve.left - 6, y: y + 4 }, ((share * most) / 1.05).toFixed(2)));
  }
  for (const share of (narrow ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1])) {
    const step = Math.round(share * lapse.steps[last]);
    picture.append(svg("text", { class: share === 1 ? "end" : "middle", x: across(step), y: curve.height - 12 }, count(step)));
  }
  if (lapse.kept_step) {
    const x = across(Math.min(lapse.kept_step, lapse.steps[last]));
    picture.append(svg("line", { class: "mark", x1: x, x2: x, y1: curve.top, y2: curve.height - curve.bottom }));
  }
  names.forEach((name, number) => {
    const points = lapse.steps.map((step, at) => [step, lapse.losses[name][at]]).filter(([, loss]) => loss !== null);
    const line = points.map(([step, loss]) => `${across(step).toFixed(1)},${up(loss).toFixed(1)}`).join(" ");
    picture.append(svg("polyline", { class: number ? "second" : "first", points: line }));
  });
  picture.append(marker, ...dots);
  const legend = el("p", { className: "legend" });
  names.forEach((name, number) => {
    const value = el("b", { id: `loss-${number}` });
    legend.append(el("span", {}, el("i", { className: number ? "second" : "first" }), `${name}: `, value));
  });
  const kept = lapse.kept_step
    ? ` The model keeps the weights of step ${count(lapse.kept_step)} (dashed line). Training judges an epoch by its`
      + " calibrated loss: overconfidence, which raises the curve of held-out rows, does not count against it." : "";
  const about = `Mean loss of up to 100 rows each, at each snapshot, ${lapse.unit}.${kept}`;
  $("curve").append(picture, legend, el("p", { className: "soft" }, about));
}

function moveMarker() {
  const x = across(lapse.steps[view.at]);
  marker.style.transform = `translateX(${x}px)`;
  names.forEach((name, number) => {
    const loss = lapse.losses[name][view.at];
    dots[number].style.transform = `translate(${x}px, ${up(loss ?? 0)}px)`;
    $(`loss-${number}`).textContent = loss === null ? "–" : loss.toFixed(3);
  });
}

// --- The answers -----------------------------------------------------------------------------------------------------

const written = (text) => text.tokens.slice(1).join(" ") + (text.cut ? " …" : "");

function answer(probs) {
  const order = probs.map((_, index) => index).sort((a, b) => probs[b] - probs[a]);
  const over = lapse.multilabel ? order.filter((index) => probs[index] >= 0.5) : order.slice(0, 1);
  return { labels: over.map((index) => lapse.labels[index]), top: probs[order[0]] };
}

function drawNumbers() {
  const head = el("tr", {}, ...["Text", lapse.target, "Answer"].map((name) => el("th", { scope: "col" }, name)));
  const rows = lapse.texts.map((text, number) => el("tr", {},
    el("th", { scope: "row" }, written(text), el("small", {}, `row ${count(text.row)}`)),
    ...[Number(text.labels[0]), lapse.numbers[view.at][number][0]].map((value) => el("td", {}, count(Number(value.toPrecision(4)))))));
  $("table").replaceChildren(el("thead", {}, head), el("tbody", {}, ...rows));
}

function drawAnswers() {
  if (lapse.target) return drawNumbers();
  const head = el("tr", {}, ...["Text", "Label", "Answer", "Probability"].map((name) => el("th", { scope: "col" }, name)));
  const rows = lapse.texts.map((text, number) => {
    const found = answer(lapse.probabilities[view.at][number]);
    const right = JSON.stringify([...found.labels].sort()) === JSON.stringify([...text.labels].sort());
    const mark = right ? "✓" : "✗";
    const meter = el("span", { className: "meter" });
    meter.style.setProperty("--share", found.top);
    const where = el("small", {}, `row ${count(text.row)}`);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, written(text), where),
      el("td", {}, text.labels.join(", ") || "none"),
      el("td", { className: right ? "" : "wrong" }, `${found.labels.join(", ") || "none"} ${mark}`),
      el("td", {}, chance(found.top), meter),
    );
  });
  $("table").replaceChildren(el("thead", {}, head), el("tbody", {}, ...rows));
}

// --- Attention -------------------------------------------------------------------------------------------------------

const maps = [];
const unpacked = (text, at) => (lapse.attention[text].bytes ??= [])[at] ??= Uint8Array.from(atob(lapse.attention[text].maps[at]), (letter) => letter.charCodeAt(0));

function weight(head, from, to) {
  const [, heads, size] = lapse.attention[view.text].shape;
  return unpacked(view.text, view.at)[((view.block * heads + head) * size + from) * size + to] / 255;
}

function choice(name, options, change) {
  const select = el("select", {}, ...options.map((option, value) => el("option", { value }, option)));
  select.addEventListener("change", () => change(Number(select.value)));
  return el("label", {}, name, select);
}

function buildMaps() {
  if (!lapse.attention.length) return;
  const [blocks, heads] = lapse.attention[0].shape;
  const short = (text) => (written(text).length > 60 ? `${written(text).slice(0, 60)}…` : written(text));
  const change = (key) => (value) => {
    view[key] = value;
    view.cell = null;
    drawMaps();
  };
  $("choices").append(choice("Text", lapse.texts.map(short), change("text")));
  if (blocks > 1) $("choices").append(choice("Block", [...Array(blocks).keys()].map((block) => block + 1), change("block")));
  for (let head = 0; head < heads; head++) {
    const canvas = el("canvas", { tabIndex: 0, role: "img" });
    const map = { head, canvas };
    canvas.addEventListener("pointermove", (event) => point(map, event));
    canvas.addEventListener("pointerdown", (event) => point(map, event));
    canvas.addEventListener("keydown", (event) => move(map, event));
    maps.push(map);
    $("maps").append(el("figure", {}, el("figcaption", {}, `Head ${head + 1}`), canvas));
  }
  new ResizeObserver(drawMaps).observe($("maps"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMaps);
}

const clipped = (context, text, width) => {
  if (context.measureText(text).width <= width) return text;
  while (text.length > 1 && context.measureText(`${text}…`).width > width) text = text.slice(0, -1);
  return `${text}…`;
};

function drawMaps() {
  for (const map of maps) drawMap(map);
  describe();
}

function drawMap(map) {
  const { canvas, head } = map, colours = getComputedStyle(document.documentElement);
  const colour = (name) => colours.getPropertyValue(name);
  const size = lapse.attention[view.text].shape[2], tokens = lapse.texts[view.text].tokens;
  const label = 64, width = canvas.clientWidth, cell = (width - label) / size, height = label + cell * size;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  Object.assign(map, { label, cell, size });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = `${Math.max(8, Math.min(12, cell * 0.9))}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.fillStyle = colour("--text");
  tokens.slice(0, size).forEach((token, index) => {
    const middle = label + (index + 0.5) * cell, text = clipped(context, token, label - 6);
    context.textAlign = "right";
    context.fillText(text, label - 4, middle);
    context.save();
    context.translate(middle, label - 4);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(text, 0, 0);
    context.restore();
  });
  context.fillStyle = colour("--page");
  context.fillRect(label, label, cell * size, cell * size);
  context.fillStyle = colour("--first");
  for (let from = 0; from < size; from++) {
    for (let to = 0; to < size; to++) {
      context.globalAlpha = Math.sqrt(weight(head, from, to)); // small weights can be seen too
      context.fillRect(label + to * cell, label + from * cell, cell - 0.5, cell - 0.5);
    }
  }
  context.globalAlpha = 1;
  if (view.cell) {
    context.strokeStyle = colour("--second");
    context.lineWidth = 2;
    context.strokeRect(label + view.cell[1] * cell, label + view.cell[0] * cell, cell, cell);
  }
  canvas.setAttribute("aria-label", `Attention of head ${head + 1}. Arrow keys read its cells.`);
}

function point(map, event) {
  const [to, from] = [event.offsetX, event.offsetY].map((place) => Math.floor((place - map.label) / map.cell));
  if (from >= 0 && to >= 0 && from < map.size && to < map.size) select(map, [from, to]);
}
function move(map, event) {
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!by) return;
  event.preventDefault();
  const cell = view.cell ? view.cell.map((place, axis) => place + by[axis]) : [0, 0];
  select(map, cell.map((place) => Math.max(0, Math.min(map.size - 1, place))));
}
function select(map, cell) {
  view.cell = cell;
  view.head = map.head;
  drawMaps();
}
function describe() {
  if (!maps.length) return;
  const { cell, head } = view, tokens = lapse.texts[view.text].tokens;
  $("cell").textContent = cell
    ? `Head ${head + 1}: “${tokens[cell[0]]}” looks at “${tokens[cell[1]]}” with ${percent(weight(head, ...cell))}.`
    : "";
}

// --- The words -------------------------------------------------------------------------------------------------------

const words = [], plane = { width: narrow ? 360 : 900, height: narrow ? 420 : 560, edge: narrow ? 24 : 40 };

function buildWords() {
  if (!lapse.words.length) return;
  const all = lapse.points.flat();
  const span = [0, 1].map((axis) => all.map((point) => point[axis])).map((values) => [Math.min(...values), Math.max(...values)]);
  const lengths = [plane.width, plane.height];
  const scale = Math.min(...span.map(([low, high], axis) => (lengths[axis] - 2 * plane.edge) / (high - low || 1)));
  plane.place = (point) => point.map((value, axis) => lengths[axis] / 2 + (axis ? -1 : 1) * scale * (value - (span[axis][0] + span[axis][1]) / 2));
  const picture = svg("svg", { viewBox: `0 0 ${plane.width} ${plane.height}`, role: "img", "aria-label": `The embeddings of ${lapse.words.length} words` });
  for (const word of lapse.words) {
    const group = svg("g", { class: "word" }, svg("title", {}, word), svg("circle", { r: 3 }), svg("text", { x: 5, y: 4 }, word));
    words.push({ group, width: 9 + 7 * word.length });
    picture.append(group);
  }
  $("scatter").append(picture);
}

// A name that would cover an earlier one is left out; the words are in the order of their frequency.
function moveWords() {
  const taken = [];
  words.forEach(({ group, width }, number) => {
    const [x, y] = plane.place(lapse.points[view.at][number]);
    group.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    const covered = taken.some(([left, top, wide]) => x < left + wide && left < x + width && Math.abs(y - top) < 13);
    group.classList.toggle("covered", covered);
    if (!covered) taken.push([x, y, width]);
  });
}

drawCurve();
buildMaps();
buildWords();
show(0);
