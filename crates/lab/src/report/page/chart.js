"use strict";
// Elements, numbers, and charts in SVG. A chart has a name for screen readers and a table of its numbers.

const NAMESPACE = "http://www.w3.org/2000/svg";
const COLOURS = 8;

/** An element with attributes and children. A child that is a string becomes text. */
function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Like `element`, for SVG. */
function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS(NAMESPACE, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== undefined && value !== null) node.setAttribute(key, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

/** A number for people, or a dash for no number. Texts of the command line follow the same rule (notation.rs): four significant
 * digits, all digits before the decimal point, no exponents, and no separators. */
function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const number = Math.abs(value) < 1e3 ? Number(value.toPrecision(4)) : Math.round(value);
  return number.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: 6 });
}

/** A mean and half the width of its confidence interval, which has two significant digits (notation.rs). An interval that only
 * rounding errors make wider than 0 is left out. */
function withMargin(mean, margin) {
  return margin > 1e-9 * Math.abs(mean) ? `${shown(mean)} ± ${shown(Number(margin.toPrecision(2)))}` : shown(mean);
}

/** A number with at most `digits` significant digits, without separators. */
const plain = (value, digits) => Number(value.toPrecision(digits)).toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: 20 });

/** A short number: 20k, 3M. Pictures of figures follow the same rule (notation.rs). */
function brief(value, digits = 3) {
  for (const [unit, letter] of [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= unit) return plain(value / unit, digits) + letter;
  }
  return plain(value, digits);
}

/** Largest number of significant digits in the name of a tick with a letter. */
const TICK_DIGITS = 5;

/** The names of the ticks of an axis, as in pictures of figures (figure/draw/axis.rs). Neighbours differ: ticks that need more
 * digits have all their digits and no letter, such as 2000150 after 2000100. */
function tickNames(found, isLog) {
  const place = value => Math.floor(Math.log10(Math.abs(value)) + 1e-9);
  const isLong = !isLog && found.length > 1;
  const digits = isLong ? place(Math.max(...found.map(Math.abs))) - place(found[1] - found[0]) + 1 : 1;
  return found.map(tick => digits > TICK_DIGITS ? plain(tick, digits) : brief(tick, TICK_DIGITS));
}

const percent = share => shown(100 * share) + "%";

/** The positions of ticks from the last that is at most `low` to the first that is at least `high`. */
function ticksAround(low, high, isLog) {
  const found = [];
  if (isLog) {
    const near = 1.001;
    const decades = Math.log10(high / low);
    const factors = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 3, 5, 7];
    const every = decades > 8 ? 2 : 1;
    for (let power = Math.floor(Math.log10(low / near)); power <= Math.ceil(Math.log10(high)) + every; power += every) {
      for (const factor of factors) found.push(factor * 10 ** power);
    }
    const end = found.findIndex(tick => tick * near >= high);
    return found.slice(found.findLastIndex(tick => tick <= low * near), end + 1);
  }
  const rough = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(step => step >= rough);
  const near = 1e-4 * (high - low);
  for (let i = Math.floor((low + near) / step); ; i++) {
    found.push(i * step);
    if (i * step >= high - near) return found;
  }
}

/** The positions of ticks between two values. */
function ticks(low, high, isLog) {
  const near = isLog ? 0.001 * low : 1e-4 * (high - low);
  return ticksAround(low, high, isLog).filter(tick => tick >= low - near && tick <= high + near);
}

/** A scale from values to pixels. With `isWhole`, it begins and ends at a tick. */
function scale(values, isLog, from, to, isWhole) {
  const usable = values.filter(value => Number.isFinite(value) && (!isLog || value > 0));
  let low = isLog ? Infinity : 0, high = -Infinity;
  for (const value of usable) { low = Math.min(low, value); high = Math.max(high, value); }
  if (usable.length === 0) [low, high] = [1, 10];
  if (low === high) [low, high] = isLog ? [low / 2, high * 2] : [low, low + 1];
  const found = isWhole ? ticksAround(low, high, isLog) : ticks(low, high, isLog);
  if (isWhole) [low, high] = [found[0], found.at(-1)];
  const place = isLog ? Math.log10 : value => value;
  const at = value => from + (place(value) - place(low)) / (place(high) - place(low)) * (to - from);
  return { at, low, high, ticks: found, isUsable: value => !isLog || value > 0 };
}

const colourOf = i => `var(--series-${i % COLOURS})`;
/** The dashes of a curve. The first four curves are solid, and 32 curves differ in their colour or their dashes. */
const dashOf = i => ["", "7 4", "2 3", "9 3 2 3"][Math.ceil(Math.floor(i / 4) / 2) % 4];

/**
 * A chart of curves. `series` are `{ name, points: [[x, y], …] }`; empty series are left out. A third number of a point
 * is half the width of its interval. With `categories`, x is the number of a category; `isDotted` draws no curves.
 */
function chart({ title, note, x, y, logX, logY, steps, series, from, categories, isDotted }) {
  const numbered = series.map((curve, i) => ({ ...curve, i })).filter(curve => curve.points.length > 0);
  const [width, height, left, right, top, bottom] = [640, 330, 62, 16, 12, 46];
  const every = which => numbered.flatMap(curve => curve.points.map(point => point[which]));
  const xs = every(0);
  const across = scale(from === undefined ? xs : [...xs], logX, left, width - right);
  if (!logX && xs.length > 0) {
    const low = xs.reduce((a, b) => Math.min(a, b));
    const span = across.high - low || 1;
    if (low > span / 4) Object.assign(across, {
      at: value => left + (value - low) / span * (width - right - left), ticks: ticks(low, across.high, false),
    });
  }
  const margins = numbered.flatMap(curve => curve.points.flatMap(([, value, margin]) => margin > 0 ? [value - margin, value + margin] : []));
  const up = scale([...every(1), ...margins], logY, height - bottom, top, true);
  if (categories) {
    const thinned = Math.ceil(categories.length / 8);
    Object.assign(across, { at: i => left + (i + 0.5) / categories.length * (width - right - left),
      ticks: [...categories.keys()].filter(i => i % thinned === 0) });
  }
  const nameOf = value => categories ? categories[value] : shown(value);
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": described() });
  const [axes, curves] = [shape("g", { class: "axes" }), shape("g", { class: "curves" })];
  const names = categories ? across.ticks.map(nameOf) : tickNames(across.ticks, logX);
  for (const [i, tick] of across.ticks.entries()) {
    const at = across.at(tick);
    axes.append(shape("line", { x1: at, x2: at, y1: top, y2: height - bottom }),
      shape("text", { x: at, y: height - bottom + 17, "text-anchor": "middle" }, names[i]));
  }
  const heights = tickNames(up.ticks, logY);
  for (const [i, tick] of up.ticks.entries()) {
    const at = up.at(tick);
    axes.append(shape("line", { x1: left, x2: width - right, y1: at, y2: at }),
      shape("text", { x: left - 7, y: at + 4, "text-anchor": "end" }, heights[i]));
  }
  axes.append(
    shape("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle", class: "label" }, x),
    shape("text", { transform: `translate(14 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "label" }, y));
  const dots = [];
  for (const [place, curve] of numbered.entries()) {
    // Intervals of several curves at one x stand side by side.
    const aside = margins.length > 0 && numbered.length < 13 ? 4 * (place - (numbered.length - 1) / 2) : 0;
    let path = "", before = null;
    for (const [px, py, margin] of curve.points) {
      if (py === null || !across.isUsable(px) || !up.isUsable(py)) { before = null; continue; }
      const at = [across.at(px) + aside, up.at(py)];
      if (before === null) path += `M${at[0].toFixed(1)} ${at[1].toFixed(1)}`;
      else path += (steps ? `H${at[0].toFixed(1)}V${at[1].toFixed(1)}` : `L${at[0].toFixed(1)} ${at[1].toFixed(1)}`);
      before = at;
      dots.push({ at, text: `${curve.name}: ${x} ${nameOf(px)}, ${y} ${withMargin(py, margin)}` });
      if (margin > 0) {
        const [low, high] = [up.at(py - margin).toFixed(1), up.at(py + margin).toFixed(1)];
        curves.append(shape("path", { d: `M${at[0] - 2} ${low}h4m-2 0V${high}m-2 0h4`, stroke: colourOf(curve.i), class: "margin" }));
      }
      if (margin !== undefined) curves.append(shape("circle", { cx: at[0], cy: at[1], r: 3, fill: colourOf(curve.i) }));
    }
    if (!isDotted) curves.append(shape("path", { d: path, stroke: colourOf(curve.i), "stroke-dasharray": dashOf(curve.i) }));
    if (curve.points.length === 1 && curve.points[0].length === 2) {
      const [[px, py]] = curve.points;
      curves.append(shape("circle", { cx: across.at(px), cy: up.at(py), r: 3, fill: colourOf(curve.i) }));
    }
  }
  const marker = shape("circle", { r: 4, class: "marker", visibility: "hidden" });
  const cursor = shape("line", { class: "cursor", y1: top, y2: height - bottom, visibility: "hidden" });
  picture.append(axes, curves, cursor, marker);
  const readout = element("p", { class: "readout" }, "\u00a0");
  picture.addEventListener("pointermove", event => {
    const box = picture.getBoundingClientRect();
    const at = [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
    const far = dot => Math.hypot(dot.at[0] - at[0], dot.at[1] - at[1]);
    const nearest = dots.reduce((best, dot) => best === null || far(dot) < far(best) ? dot : best, null);
    if (nearest === null) return;
    fill(marker, { cx: nearest.at[0], cy: nearest.at[1], visibility: "visible" }, []);
    readout.textContent = nearest.text;
  });

  function described() {
    if (numbered.length === 0) return `${title}: no data`;
    const parts = numbered.map(({ name, points }) => {
      const most = points.reduce((best, point) => point[1] !== null && point[1] > best[1] ? point : best, points[0]);
      return `${name}: ${points.length} points, greatest ${shown(most[1])} at ${nameOf(most[0])}`;
    });
    return `${title}. Across: ${x}. Up: ${y}. ${parts.join("; ")}.`;
  }

  const legend = element("ul", { class: "legend" }, ...numbered.map(curve => element("li", {},
    shape("svg", { viewBox: "0 0 26 8", "aria-hidden": "true" },
      shape("line", { x1: 1, x2: 25, y1: 4, y2: 4, stroke: colourOf(curve.i), "stroke-dasharray": dashOf(curve.i) })),
    curve.name)));
  const figure = element("figure", { class: "chart" },
    element("figcaption", {}, element("h3", {}, title), note ? element("p", {}, note) : null),
    numbered.length === 0 ? element("p", { class: "empty" }, "There are no data for this chart.") : picture,
    isDotted ? null : legend, readout, numbersOf(numbered, x, y, nameOf));
  /** Draws a line at a value of x; null removes the line. */
  figure.mark = value => fill(cursor, value === null ? { visibility: "hidden" }
    : { x1: across.at(value), x2: across.at(value), visibility: "visible" }, []);
  return figure;
}

/** A table of a chart's numbers, made when it is opened. Long curves are thinned. */
function numbersOf(series, x, y, nameOf) {
  const most = 40;
  const details = element("details", {}, element("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    for (const { name, points } of series) {
      const every = Math.ceil(points.length / most);
      const kept = points.filter((_, i) => i % every === 0 || i === points.length - 1);
      const heads = points.some(point => point.length > 2) ? [x, y, "±"] : [x, y];
      details.append(table(name, heads, kept.map(([first, ...rest]) => [nameOf(first), ...rest])));
    }
  });
  return details;
}

/** A table. Cells are numbers, strings or elements; a cell of the first column heads its row. */
function table(caption, heads, rows) {
  const isNumber = value => typeof value === "number" || /^[\d.,]+%$/.test(value);
  const kind = (values, i) => i > 0 && values.some(isNumber) ? { class: "number" } : {};
  const cell = (value, i) => element(i === 0 ? "th" : "td", { ...(i === 0 ? { scope: "row" } : kind([value], i)) },
    value instanceof Node ? value : shown(value));
  const head = (text, i) => element("th", { scope: "col", ...kind(rows.map(row => row[i]), i) }, text);
  return scrolled(caption, element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...heads.map(head))),
    element("tbody", {}, ...rows.map(row => element("tr", {}, ...row.map(cell))))));
}

/** A box for a table. If the table is too high for the box, the box ends below a whole row that is not a heading. */
function scrolled(label, table) {
  const box = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
  new ResizeObserver(() => {
    box.style.maxHeight = "";
    const isCut = box.scrollHeight > box.clientHeight;
    box.classList.toggle("cut", isCut);
    if (!isCut) return;
    const bottoms = [...table.querySelectorAll("tr:not(.class)")].map(row => row.offsetTop + row.offsetHeight).filter(bottom => bottom <= box.clientHeight);
    box.style.maxHeight = `${Math.max(...bottoms) + box.offsetHeight - box.clientHeight}px`;
  }).observe(table);
  return box;
}
