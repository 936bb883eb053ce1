// From which numbers a number comes, for each operation of a trace. `matrices` maps a name to its matrix:
// { name, operation, inputs, settings, shape, axes, values }. A cell is the list of its indices.

const FUNCTIONS = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => (x / 2) * (1 + erf(x / Math.SQRT2)),
  "gelu-tanh": (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  silu: (x) => x / (1 + Math.exp(-x)),
  tanh: Math.tanh,
};

// The error function by its series, which is exact enough up to 4; beyond, it is 1.
function erf(x) {
  if (Math.abs(x) > 4) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; n < 80; n++) {
    term *= -x * x / n;
    sum += term / (2 * n + 1);
  }
  return 2 / Math.sqrt(Math.PI) * sum;
}

const flat = (matrix, cell) => cell.reduce((place, index, axis) => place * matrix.shape[axis] + index, 0);
const number = (matrix, cell) => matrix.values[flat(matrix, cell)];
const along = (size, cell) => Array.from({ length: size }, (_, index) => cell(index));

// The last axis of a matrix, with the other indices given.
const row = (matrix, before) => along(matrix.shape.at(-1), (index) => [...before, index]);
// The axis before the last one.
const column = (matrix, before, last) => along(matrix.shape.at(-2), (index) => [...before, index, last]);

// The cell of a matrix, where an axis of size 1 stands for all its indices.
const stretched = (matrix, cell) => cell.map((index, axis) => (matrix.shape[axis] === 1 ? 0 : index));

const sum = (numbers) => numbers.reduce((total, value) => total + value, 0);
const mean = (numbers) => sum(numbers) / numbers.length;

// Returns { groups: [[matrix, cells], …], value, pairs, zero }. `pairs`: the value is a sum of products of the first
// two groups, times `factor`, plus the third group. `zero`: why the cell has no sources. `value` is NaN if a weight is
// not in the page.
function sources(matrices, matrix, cell) {
  const [x, a, b, c, d] = matrix.inputs.map((name) => matrices[name]);
  const { settings, operation } = matrix;
  const before = cell.slice(0, -1), last = cell.at(-1);
  const one = (from, at, value) => ({ groups: [[from, [at]]], value: value ?? (from ? number(from, at) : NaN) });
  const read = (from, cells) => (from ? cells(from).map((at) => number(from, at)) : [NaN]);
  const group = (from, cells) => [from, from ? cells(from) : []];
  const products = (left, right, factor = 1, added = null) => {
    const groups = [left, right, ...(added ? [added] : [])];
    const known = groups.every(([from]) => from);
    const total = known ? sum(left[1].map((at, i) => number(left[0], at) * number(right[0], right[1][i]))) * factor : NaN;
    return { groups, pairs: true, factor, value: total + (added && known ? number(added[0], added[1][0]) : 0) };
  };
  const turned = (size, index, place) => {
    const half = size / 2, low = index < half, angle = [before.at(-1), index % half];
    const own = place(index), other = place(low ? index + half : index - half);
    const groups = [[x, [own, other]], group(a, () => [angle]), group(b, () => [angle])];
    const value = a && b ? number(x, own) * number(a, angle) + (low ? -1 : 1) * number(x, other) * number(b, angle) : NaN;
    return { groups, value };
  };
  const inHead = (index) => [cell[1], (settings.part * x.shape[1]) / 3 + cell[0] * settings.head_dim + index];
  const normed = (centre, spread, weight, bias, cells) => {
    const groups = [[x, cells], ...matrix.inputs.slice(1).map((name) => group(matrices[name], () => [[last]]))];
    const scale = read(weight, () => [[last]])[0], shift = bias === null ? 0 : read(bias, () => [[last]])[0];
    return { groups, value: (number(x, cell) - centre) / Math.sqrt(spread + settings.eps) * scale + shift };
  };
  switch (operation) {
    case "lookup": return { groups: [[x, [[cell[0]]]]], value: NaN };
    case "one-hot": return one(x, [cell[0]], Number(number(x, [cell[0]]) === settings.first + last));
    case "lookup-in-row": {
      const texts = along(x.shape[0], (at) => along(at + 1, (index) => number(x, [index])).filter((id) => id === settings.separator).length);
      const of = (at) => (a ? Math.min(texts[at], a.shape[0] - 1) : 0), id = number(x, [cell[0]]);
      const matches = id >= settings.n_special && id !== settings.separator
        && along(x.shape[0], (at) => at).some((at) => number(x, [at]) === id && of(at) !== of(cell[0]));
      return { groups: [[x, [[cell[0]]]], group(a, () => [[of(cell[0]), last]]), ...(matches ? [group(b, () => [[last]])] : [])], value: NaN };
    }
    case "same": return one(x, cell);
    case "columns": return one(x, [...before, settings.skipped + last]);
    case "transpose": return one(x, [cell[1], cell[0]]);
    case "reversed": return one(x, [x.shape[0] - 1 - cell[0], last]);
    case "previous":
      return cell[0] ? one(x, [cell[0] - 1, last]) : { groups: [], value: 0, zero: "Nothing was read before." };
    case "product": {
      const weight = stretched(x, cell);
      return { groups: [[x, [weight]], [a, [cell]]], value: number(x, weight) * number(a, cell) };
    }
    case "two-products": {
      const [first, second, third, fourth] = [x, a, b, c].map((from) => number(from, cell));
      return { groups: [x, a, b, c].map((from) => [from, [cell]]), value: first * second + third * fourth };
    }
    case "complement": return one(x, cell, 1 - number(x, cell));
    case "add": return { groups: [group(x, () => [cell]), group(a, () => [cell])], value: a ? number(x, cell) + number(a, cell) : NaN };
    case "add-with-bias": {
      const groups = [[x, [cell]], [a, [cell]], group(b, (bias) => [stretched(bias, cell)])];
      return { groups, value: number(x, cell) + number(a, cell) + (b ? number(b, stretched(b, cell)) : NaN) };
    }
    case "rotate": return turned(x.shape[1], last, (index) => [cell[0], index]);
    case "head": return one(x, inHead(last));
    case "rotated-head": return turned(settings.head_dim, last, inHead);
    case "linear": return products([x, row(x, before)], group(a, (w) => row(w, [last])));
    case "linear-with-bias":
      return products([x, row(x, before)], group(a, (w) => row(w, [last])), 1, group(b, () => [[last]]));
    case "rms-norm": {
      const cells = row(x, before);
      return normed(0, mean(cells.map((at) => number(x, at) ** 2)), a, null, cells);
    }
    case "layer-norm": {
      const cells = row(x, before), centre = mean(cells.map((at) => number(x, at)));
      const spread = mean(cells.map((at) => (number(x, at) - centre) ** 2));
      return normed(centre, spread, a, matrix.inputs.length > 2 ? b : null, cells);
    }
    case "batch-norm": return normed(read(a, () => [[last]])[0], read(b, () => [[last]])[0], c, d, [cell]);
    case "scores": {
      const query = cell.at(-2), key = last, away = query - key, head = cell.slice(0, -2);
      if ((settings.pattern === "causal" && away < 0) || (settings.pattern === "local" && Math.abs(away) > settings.reach)) {
        return { groups: [], value: -Infinity, zero: `A mask: none of the ${matrix.axes.at(-1)} here may look at this one.` };
      }
      return products([x, row(x, [...head, query])], [a, row(a, [...head, key])], 1 / Math.sqrt(settings.head_dim));
    }
    case "softmax": {
      const cells = row(x, before), most = Math.max(...cells.map((at) => number(x, at)));
      const powers = cells.map((at) => Math.exp(number(x, at) - most));
      return { groups: [[x, cells]], value: powers[last] / sum(powers) };
    }
    case "softmax-of-columns": {
      const cells = column(x, [], last), most = Math.max(...cells.map((at) => number(x, at)));
      const powers = cells.map((at) => Math.exp(number(x, at) - most));
      return { groups: [[x, cells]], value: powers[cell[0]] / sum(powers) };
    }
    case "z-score": {
      const cells = row(x, before), numbers = cells.map((at) => number(x, at)), centre = mean(numbers);
      const spread = sum(numbers.map((each) => (each - centre) ** 2)) / (numbers.length - 1);
      return { groups: [[x, cells]], value: (number(x, cell) - centre) / Math.sqrt(spread) };
    }
    case "scores-of-texts":
      return products([x, row(x, before)], [a, row(a, before)], 1 / Math.sqrt(settings.head_dim));
    case "ordered-logits": {
      const steps = read(a, (from) => along(from.shape[0], (index) => [index])), score = number(x, [0]);
      const above = steps.reduce((found, step, k) => [...found, k ? found[k - 1] + Math.log1p(Math.exp(step)) : step], [])
        .map((threshold) => FUNCTIONS.sigmoid(score - threshold));
      return { groups: [[x, [[0]]], group(a, (from) => along(from.shape[0], (index) => [index]))], value: Math.log((last ? above[last - 1] : 1) - (above[last] ?? 0)) };
    }
    case "sigmoid": return one(x, cell, FUNCTIONS.sigmoid(number(x, cell)));
    case "mix": case "matmul": case "matmul-with-bias": {
      const heads = cell.slice(0, -2), bias = operation === "matmul-with-bias" && group(b, (each) => [stretched(each, cell)]);
      return products(group(x, (from) => row(from, before)), group(a, (from) => column(from, heads, last)), 1, bias || null);
    }
    case "beside": case "below": {
      const axis = operation === "below" ? 0 : cell.length - 1;
      let index = cell[axis], part = 0;
      const length = () => matrices[matrix.inputs[part]].shape[axis];
      while (index >= length()) {
        index -= length();
        part += 1;
      }
      return one(matrices[matrix.inputs[part]], cell.with(axis, index));
    }
    case "join": return one(x, [Math.floor(last / x.shape[2]), cell[0], last % x.shape[2]]);
    case "activation": {
      const at = [...before, settings.skipped + last];
      return one(x, at, FUNCTIONS[settings.function](number(x, at)));
    }
    case "gate": {
      const value = [...before, last + a.shape.at(-1) - x.shape.at(-1)];
      return { groups: [[x, [cell]], [a, [value]]], value: number(x, cell) * number(a, value) };
    }
    case "pick": return one(x, [settings.row === "first" ? 0 : x.shape[0] - 1, last]);
    case "mean": return { groups: [[x, column(x, [], last)]], value: mean(column(x, [], last).map((at) => number(x, at))) };
    case "max": return { groups: [[x, column(x, [], last)]], value: Math.max(...column(x, [], last).map((at) => number(x, at))) };
    case "part-mean": {
      const cells = settings.parts[cell[0]].map((part) => [part, last]);
      if (!cells.length) return { groups: [], value: 0, zero: "The body knows neither this word nor a piece of it." };
      return { groups: [[x, cells]], value: mean(cells.map((at) => number(x, at))) };
    }
    case "share": {
      const cells = row(x, before).filter(([index]) => settings.texts[index] === settings.texts[last]);
      const whole = sum(cells.map((at) => number(x, at))) + settings.pseudocount;
      return { groups: [[x, cells]], value: number(x, cell) / (whole || 1) };
    }
    case "tf-idf": return { groups: [[x, [cell]], group(a, () => [cell])], value: a ? (1 + Math.log(number(x, cell))) * number(a, cell) : NaN };
    case "unit-length": {
      const cells = row(x, before).filter(([index]) => settings.vectors[index] === settings.vectors[last]);
      return { groups: [[x, cells]], value: number(x, cell) / Math.hypot(...cells.map((at) => number(x, at))) };
    }
    case "scaled-rows": case "scaled-rows-plus":
      return products([x, [[cell[0]]]], group(a, () => [cell]), 1, operation === "scaled-rows" ? null : group(b, () => [cell]));
    case "query-scores": return products([x, row(x, cell)], group(a, (query) => row(query, [])), 1 / Math.sqrt(settings.d_model));
    case "weighted-mean": return products([x, row(x, [])], [a, column(a, [], last)]);
    case "flatten": {
      const at = [Math.floor(last / x.shape[1]), last % x.shape[1]];
      return at[0] < x.shape[0] ? one(x, at) : { groups: [], value: 0, zero: "There is no token here: the rest is zeros." };
    }
    case "scale": return one(x, cell, settings.factor * number(x, cell));
    case "divide": return one(x, cell, number(x, cell) / settings.divisor);
    case "column-sum": {
      const cells = column(x, [], last), bias = group(a, () => [[last]]);
      return { groups: [[x, cells], bias], value: a ? sum(cells.map((at) => number(x, at))) + number(a, [last]) : NaN };
    }
    default: return { groups: [], value: number(matrix, cell), zero: operation === "weight" ? "A weight: learned in training, or fixed." : "Given." };
  }
}
