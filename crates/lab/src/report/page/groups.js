"use strict";
// Groups of runs that differ only in their seed: a chart of their means, and a table.

/** Number of curves above which the chart shows a part of the groups at first. */
const MOST_CURVES = 12;

/** The last word of a key: `routing` of `scheme.routing`. Whole keys if two of them end alike. */
function shortKeys(keys) {
  const last = keys.map(key => key.split(".").pop());
  return new Set(last).size === keys.length ? last : keys;
}

/** A mean with its margin, or a dash. */
const meanText = number => number === null ? "–" : withMargin(...number);

/** The means of the groups along the numeric key with the most values, or side by side if no key is numeric. */
function groupsChart({ keys, measures, rows }) {
  const names = shortKeys(keys);
  const valuesOf = i => [...new Set(rows.map(row => row.labels[i]))];
  const isNumeric = i => rows.every(row => typeof row.labels[i] === "number");
  const along = keys.map((_, i) => i).filter(isNumeric).sort((a, b) => valuesOf(b).length - valuesOf(a).length)[0];
  const others = keys.map((_, i) => i).filter(i => i !== along);
  const place = element("div", {});
  const choice = (label, options, start) => {
    const select = element("select", { change: draw }, ...options.map((text, i) => element("option", { value: i }, text)));
    select.value = start;
    return { select, label: element("label", {}, label, select) };
  };
  const measure = choice("Measure", measures, 0);
  // Too many curves at once are unreadable: the last keys are then held at their first value.
  let curves = along === undefined ? 1 : others.reduce((count, i) => count * valuesOf(i).length, 1);
  const filters = others.toReversed().map(i => {
    const isHeld = curves > MOST_CURVES;
    if (isHeld) curves /= valuesOf(i).length;
    return { i, ...choice(names[i], ["all", ...valuesOf(i).map(String)], isHeld ? 1 : 0) };
  }).reverse();
  function draw() {
    const m = Number(measure.select.value);
    const kept = rows.filter(row => row.values[m] !== null && filters.every(({ i, select }) =>
      select.value === "0" || String(row.labels[i]) === String(valuesOf(i)[select.value - 1])));
    const points = new Map();
    const categories = [];
    kept.forEach((row, at) => {
      const name = others.map(i => row.labels[i]).join(", ") || "all runs";
      if (along === undefined) categories.push(name);
      const curve = along === undefined ? "mean" : name;
      points.set(curve, [...(points.get(curve) ?? []), [along === undefined ? at : row.labels[along], ...row.values[m]]]);
    });
    const series = [...points].map(([name, points]) => ({ name, points: points.sort((a, b) => a[0] - b[0]) }));
    place.replaceChildren(chart({
      title: measures[m], note: "The mean of each group; a bar is its 95% interval.", x: along === undefined ? names.join(", ") : names[along],
      y: measures[m], series, categories: along === undefined ? categories : undefined, isDotted: along === undefined,
    }));
  }
  draw();
  return element("div", { class: "groups" }, element("div", { class: "controls" }, measure.label, ...filters.map(({ label }) => label)), place);
}

/** A row for each group. The note says which runs the rest of the page shows, and how to choose others. */
function groupsView(groups, runs) {
  const { keys, measures, rows } = groups;
  const failed = rows.some(row => row.failed > 0);
  const stopped = rows.some(row => row.stopped > 0);
  const heads = [...shortKeys(keys), "n", ...(stopped ? ["stopped"] : []), ...(failed ? ["failed"] : []), ...measures, "in detail", "run"];
  const body = rows.map(row => [
    ...(row.labels.length > 0 ? row.labels.map(String) : []), row.n, ...(stopped ? [row.stopped] : []), ...(failed ? [row.failed] : []),
    ...row.values.map(number => element("span", { class: "nowrap" }, meanText(number))),
    row.detail === null ? "–" : "yes", element("span", { class: "nowrap" }, row.detail === null ? row.directory : runs[row.detail].directory)]);
  return element("div", {}, groupsChart(groups),
    table("Mean over the runs of a group ± half the width of its 95% interval", heads, body));
}

/** Says how many of the runs are shown in detail, and how to choose them. */
function detailNote({ runs, rows }, detailed) {
  const names = detailed.map(run => run.name).join(", ");
  return `${shown(runs)} ${plural("run", runs)} in ${shown(rows.length)} ${plural("group", rows.length)}: the runs of a group differ only in their seed. `
    + `Every run counts in the table of groups. In detail, below, ${detailed.length === 1 ? "is" : "are"} ${detailed.length} of them: ${names}. `
    + "To choose others: raddle report … --detail DIR, with a run's directory, as often as you like.";
}
