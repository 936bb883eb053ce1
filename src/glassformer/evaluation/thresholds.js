// A slider over the thresholds of a class: how many rows each finds, how many of these are wrong, how many it misses.
const chooser = document.getElementById("chooser");
const data = JSON.parse(chooser.dataset.thresholds);
const share = (value, digits = 3) => value.toFixed(digits).replace(/^0/, "");
const probability = (value) => share(value, 6); // no fewer digits: then other rows would reach it
const whole = (value) => value.toLocaleString("en");

const kind = el("select", {}, ...data.classes.map(({ name }, number) => el("option", { value: number }, name)));
const cost = el("input", { type: "number", min: 0.01, step: "any", value: data.classes[0].cost });
const slider = el("input", { type: "range", min: 0 });
const said = el("output"), wrong = el("span");
chooser.append(
  el("label", { hidden: data.classes.length < 2 }, "Class ", kind),
  el("label", {}, "A missed row costs as much as ", cost, " ", wrong),
  el("label", {}, "Threshold ", slider),
  said,
);

const chosen = () => data.classes[Number(kind.value)];

function cheapest() {
  wrong.textContent = Number(cost.value) === 1 ? "wrong one" : "wrong ones";
  const { rows, points } = chosen();
  const price = ([, right, found]) => Number(cost.value) * (rows - right) + found - right;
  slider.max = points.length - 1;
  // The lowest threshold is on the left. Of equal prices, the highest threshold is taken.
  slider.value = points.length - 1 - points.reduce((best, point, at) => (price(point) < price(points[best]) ? at : best), 0);
  show();
}

function show() {
  const { name, rows, points } = chosen();
  const [threshold, right, found] = points[points.length - 1 - Number(slider.value)];
  slider.setAttribute("aria-valuetext", probability(threshold));
  said.textContent =
    `${name} from a probability of ${probability(threshold)} on: ${whole(found)} of ${whole(data.rows)} rows, ` +
    `${whole(found - right)} of them wrong (precision ${share(right / found)}). ` +
    `${whole(rows - right)} of ${whole(rows)} missed (recall ${share(right / rows)}).`;
}

kind.addEventListener("change", () => { cost.value = chosen().cost; cheapest(); });
cost.addEventListener("input", () => cost.validity.valid && cost.value && cheapest());
slider.addEventListener("input", show);
cheapest();
