"use strict";
// The tables of the report: summary, claims, hot links, flows and ranks.

/** The definition of a measure, by a term in its name; the longest term counts. */
function definitionOf(name) {
  const lower = name.toLowerCase();
  let best = null, length = 0;
  for (const definition of DATA.definitions) {
    for (const term of definition.term.toLowerCase().split(", ")) {
      if (lower.includes(term) && term.length > length) [best, length] = [definition, term.length];
    }
  }
  return best;
}

const anchor = term => "def-" + term.toLowerCase().replace(/[^a-z0-9]+/g, "-");

/** A measure's name, with a link to its definition. */
function defined(name) {
  const definition = definitionOf(name);
  if (definition === null) return name;
  return element("a", { href: "#" + anchor(definition.term), title: definition.meaning }, name);
}

function summaryTable() {
  const { runs, measures } = DATA.comparison;
  const body = element("tbody");
  let group = null;
  for (const { class: name, measure, values, over_first: ratios } of measures) {
    if (name !== group && name !== null) {
      const head = name === "all" ? "all flows" : `flows ${name}`;
      body.append(element("tr", { class: "class" }, element("th", { scope: "rowgroup", colspan: runs.length + 1 }, head)));
    }
    group = name;
    const cell = (value, i) => element("td", { class: "number" },
      typeof value === "string" ? value.slice(0, 12) : shown(value),
      ratios[i] === null ? null : element("span", { class: "ratio" }, ` (${ratios[i].toFixed(2)})`));
    body.append(element("tr", {}, element("th", { scope: "row" }, defined(measure)), ...values.map(cell)));
  }
  const heads = DATA.runs.map(run => element("th", { scope: "col", class: "number" }, run.name));
  return scrolled("Summary", element("table", {},
    element("caption", {}, runs.length > 1 ? "In brackets: the value divided by the value of the first run" : "Numbers of the run"),
    element("thead", {}, element("tr", {}, element("td", {}), ...heads)), body));
}

function claimsTable({ title, claims }) {
  const verdict = ({ ok, deviates, calibrated }) => ok === true ? (calibrated ? "calibrated" : "holds")
    : ok === false ? (deviates ? "deviates" : "FAILS") : "not measured";
  const kinds = { holds: "holds", calibrated: "holds", FAILS: "fails", deviates: "other", "not measured": "other" };
  const range = ([low, high]) => `${low === null ? "any" : shown(low)} to ${high === null ? "any" : shown(high)}`;
  const row = claim => {
    const text = verdict(claim);
    return [claim.claim, element("span", { class: kinds[text] }, text), claim.paper, withMargin(claim.measured, claim.spread?.margin95),
      range(claim.accept), claim.says, claim.deviates ? claim.deviates.cause : claim.remark ?? ""];
  };
  return table(title, ["claim", "verdict", "paper", "measured", "accepted", "the paper says", "remark"], claims.map(row));
}

function linksTable(run) {
  const inColumn = share => `${(100 * share).toFixed(2)}%`;
  const row = link => [
    `${nodeOf(run, link.from)} → ${nodeOf(run, link.to)}`, link.link, link.rate_gbps, inColumn(link.load),
    link.peak_queue_bytes, link.drops, ...(run.links.some(other => other.paused !== null) ? [inColumn(link.paused ?? 0)] : []),
  ];
  const heads = ["link", "number", "rate Gbps", "load", "peak queue B", "drops",
    ...(run.links.some(link => link.paused !== null) ? ["paused"] : [])];
  return table("Links with the greatest load, then those with the longest queues", heads, run.links.map(row));
}

/** The table of flows; a click on a flow shows its path in the drawing. */
function flowsTable(run, view) {
  let current = null;
  const columns = ["flow", "source", "destination", "size B", "start us", "FCT us", "slowdown"];
  const show = (flow, button) => {
    current?.removeAttribute("aria-current");
    current = button.closest("tr");
    current.setAttribute("aria-current", "true");
    const [id, source, destination] = flow;
    const path = run.paths?.[id];
    const name = `Flow ${id}, ${nodeOf(run, source)} to ${nodeOf(run, destination)}`;
    const packets = path?.reduce((sum, [, count]) => sum + count, 0);
    if (path) view.highlight(path.map(([edge]) => edge), `${name}: ${packets} packet-hops on ${path.length} links`);
    else view.highlight(endEdges(run, [source, destination]), `${name}: its path was not recorded; its hosts' links are marked`);
    document.getElementById("fabric").scrollIntoView({ behavior: "smooth" });
  };
  const row = flow => {
    const button = element("button", { type: "button", "aria-label": `Show the path of flow ${flow[0]}`, click: () => show(flow, button) }, String(flow[0]));
    return [button, nodeOf(run, flow[1]), nodeOf(run, flow[2]), ...flow.slice(3, 5), flow[5] ?? "unfinished", flow[6]];
  };
  const caption = run.flows.length < run.flow_count
    ? `${shown(run.flows.length)} of ${shown(run.flow_count)} flows: unfinished ones, then by slowdown` : "Flows, by slowdown";
  return table(caption, columns, run.flows.map(row));
}

/** The edges at two nodes of the topology. */
function endEdges(run, numbers) {
  const drawn = new Set(numbers.map(number => run.fabric.drawn ? run.fabric.drawn[number] : number));
  return [...run.fabric.edges.keys()].filter(edge => run.fabric.edges[edge].some(end => drawn.has(end)));
}

/** Bars of ranks: computing, then sending and waiting, until the end. */
function ranksView(run) {
  const most = 128;
  const every = Math.ceil(run.ranks.length / most);
  const kept = run.ranks.filter((_, i) => i % every === 0);
  const end = Math.max(1, ...run.ranks.map(rank => rank[2] ?? 0));
  const [left, width, bar] = [64, 640, Math.max(4, Math.min(16, 480 / kept.length))];
  const height = kept.length * bar + 46;
  const at = us => left + us / end * (width - left - 16);
  const finished = run.ranks.filter(rank => rank[2] !== null).length;
  const label = `Ranks of ${run.name}: ${finished} of ${run.ranks.length} finished, the last after ${shown(end)} us.`;
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const axes = shape("g", { class: "axes" });
  const times = ticks(0, end, false);
  const names = tickNames(times, false);
  for (const [i, tick] of times.entries()) {
    axes.append(shape("line", { x1: at(tick), x2: at(tick), y1: 4, y2: height - 40 }),
      shape("text", { x: at(tick), y: height - 24, "text-anchor": "middle" }, names[i]));
  }
  axes.append(shape("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle", class: "label" }, "us since the start"));
  kept.forEach(([rank, , ended, computed], i) => {
    const y = 4 + i * bar;
    if (bar >= 10 || i % Math.ceil(12 / bar) === 0) {
      axes.append(shape("text", { x: left - 6, y: y + bar / 2 + 4, "text-anchor": "end" }, `rank ${rank}`));
    }
    const rest = shape("rect", { x: at(0), width: at(ended ?? end) - at(0), y, height: bar - 1, fill: colourOf(0),
      "fill-opacity": ended === null ? 0.3 : 0.75 });
    const work = shape("rect", { x: at(0), width: Math.min(at(computed), at(ended ?? end)) - at(0), y, height: bar - 1, fill: colourOf(1) });
    picture.append(rest, work);
  });
  picture.prepend(axes);
  const key = (i, text) => element("li", {}, shape("svg", { viewBox: "0 0 26 8", "aria-hidden": "true" },
    shape("rect", { width: 26, height: 8, fill: colourOf(i) })), text);
  return element("div", {},
    element("figure", { class: "chart ranks" }, element("figcaption", {}, element("h3", {}, "Ranks until their end"),
      element("p", {}, "The computing time of a rank is drawn first, although it may be spread over its time."
        + (every > 1 ? ` One of ${every} ranks is drawn.` : ""))),
      picture, element("ul", { class: "legend" }, key(1, "computing"), key(0, "sending, receiving and waiting"))),
    ranksTable(run));
}

/** The results of the first ranks. */
function ranksTable(run) {
  const rows = run.ranks.slice(0, 1000);
  return table(rows.length < run.ranks.length ? `The first ${shown(rows.length)} of ${shown(run.ranks.length)} ranks` : "Ranks", ["rank", "host", "end us", "computing us", "messages sent", "bytes sent"], rows);
}
