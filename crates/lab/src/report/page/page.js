"use strict";
// Puts the sections of the report together.

const DATA = JSON.parse(document.getElementById("data").textContent);
DATA.runs.forEach((run, i) => { run.name = DATA.comparison.runs[i].run; });
/** True if the report has more runs than it shows in detail. */
const isSummarised = DATA.groups.runs > DATA.runs.length;

/** Adds a section with a heading and a link to it. */
function section(id, title, note, ...children) {
  document.getElementById("sections").append(element("a", { href: "#" + id }, title));
  document.getElementById("main").append(
    element("section", { "aria-labelledby": id }, element("h2", { id }, title), note ? element("p", {}, note) : null, ...children));
}

const charts = (...drawn) => element("div", { class: "charts" }, ...drawn);
const named = points => DATA.runs.map(run => ({ name: run.name, points: points(run) }));

function summary() {
  const differences = DATA.comparison.differences.map(text => element("li", {}, text));
  const rows = DATA.runs.map((run, i) => {
    const { seed, version, complete, error } = DATA.comparison.runs[i].summary;
    const state = error ? `failed: ${error.message}` : complete ? "complete" : "stopped early";
    return [run.name, run.scheme, run.hosts, seed, version, state, run.directory];
  });
  if (isSummarised) section("groups", "Groups", detailNote(DATA.groups, DATA.runs), groupsView(DATA.groups, DATA.runs));
  section("summary", isSummarised ? "Runs in detail" : "Summary", null,
    table("Runs", ["run", "scheme", "hosts", "seed", "version", "state", "directory"], rows),
    summaryTable(),
    !isSummarised && differences.length > 0 ? element("div", {}, element("p", {}, "The runs are not of the same experiment:"), element("ul", {}, ...differences)) : null);
}

/** The caption of curves of this many flows each. */
function flowsOf(counts) {
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return `${counts.length > 1 ? "Each curve: " : ""}n = ${least === most ? shown(most) : `${shown(least)} to ${shown(most)}`} flows`;
}

function times() {
  const bySize = (p, title) => chart({
    title, x: "size of the flow (bytes)", y: "slowdown", logX: true, logY: true, series: named(run => run.slowdown[p]),
  });
  section("slowdown", "Slowdown by size", "Slowdown: FCT divided by the FCT of the flow alone. Each point has an equal share of the flows.",
    charts(bySize("p50", "Median slowdown"), bySize("p99", "99th percentile of slowdown")));
  const classes = DATA.runs[0].fct.map(({ class: name }, i) => ({ name, i }))
    .filter(({ i }) => DATA.runs.some(run => run.fct[i].points.length > 0));
  section("fct", "Completion times", "The share of finished flows whose FCT is at most the value.",
    charts(...classes.map(({ name, i }) => chart({
      title: name === "all" ? "All flows" : `Flows ${name}`, note: flowsOf(DATA.runs.map(run => run.fct[i].flows)),
      x: "FCT (us)", y: "share of flows", logX: true, steps: true,
      series: named(run => run.fct[i].points),
    }))));
}

function overTime() {
  const at = (run, key) => (run.series?.[key] ?? []).map((value, i) => [run.series.begin_us + (i + 0.5) * run.series.interval_us, value]);
  const x = "us since the start";
  const drawn = [chart({ title: "Active flows", x, y: "flows", steps: true, series: named(run => run.active) })];
  if (DATA.runs.some(run => run.series)) {
    // Runs of the flow engine have no queues.
    const over = (title, key, y, note) => DATA.runs.some(run => run.series?.[key])
      ? [chart({ title, note, x, y, series: named(run => at(run, key)) })] : [];
    // With fewer than 100 ports, the 99th percentile is the longest queue.
    const hasShorterQueues = DATA.runs.some(({ series }) => String(series?.queue_p99_bytes) !== String(series?.queue_max_bytes));
    drawn.push(
      ...over("Throughput", "throughput_gbps", "Gbps", "Application bytes that reached their hosts."),
      ...over("Busiest link", "load_max", "load", "The load of the busiest link of each interval, as a share of its rate."),
      ...over("Mean load of links", "load_mean", "load"),
      ...over("Longest queue", "queue_max_bytes", "bytes", "The longest of the sampled egress queues."),
      ...(hasShorterQueues ? over("99th percentile of queues", "queue_p99_bytes", "bytes", "Over all egress ports.") : []));
  }
  const note = DATA.runs.every(run => run.series) ? null
    : "Throughput, loads and queues over time need a run of the packet or the flow engine with `series = true` in [record]. The flow engine has no queues.";
  section("time", "Over time", note, charts(...drawn));
}

/** The parts that show one run at a time, with a tab for each run. */
function oneRun() {
  const panel = element("div", { id: "run", role: "tabpanel", tabindex: -1 });
  const tabs = DATA.runs.map((run, i) => element("button", {
    role: "tab", type: "button", id: `tab-${i}`, "aria-controls": "run", click: () => choose(i),
    keydown: event => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: DATA.runs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = (to + DATA.runs.length) % DATA.runs.length;
      choose(next);
      tabs[next].focus();
    },
  }, run.name));
  function choose(chosen) {
    tabs.forEach((tab, i) => fill(tab, { "aria-selected": i === chosen, tabindex: i === chosen ? 0 : -1 }, []));
    panel.setAttribute("aria-labelledby", `tab-${chosen}`);
    const run = DATA.runs[chosen];
    const links = linksOverTime(run);
    const rates = run.rates ? ratesView(run) : [];
    const timeline = run.rank_series ? timelineView(run) : null;
    // The slider of the fabric marks its time in every chart of the run.
    const view = fabricView(run, us => [...links, ...rates, ...(timeline ? [timeline] : [])].forEach(chart => chart.mark(us)));
    panel.replaceChildren(
      view.node,
      element("h2", { id: "links" }, "Hot links"), linksTable(run), charts(...links),
      element("h2", { id: "flows" }, "Flows"), absent(run, "Rates of senders and flows, and the paths of flows, are"), charts(...rates), flowsTable(run, view),
      ...(run.ranks.length > 0 ? [element("h2", { id: "ranks" }, "Ranks"), absent(run, "What ranks do over time is"), ...(timeline ? [timeline.node, ranksTable(run)] : [ranksView(run)])] : []));
  }
  section("fabric", "Fabric", null, element("div", { role: "tablist", "aria-label": "Runs" }, ...tabs), panel);
  const links = [["links", "Hot links"], ["flows", "Flows"], ...(DATA.runs.some(run => run.ranks.length > 0) ? [["ranks", "Ranks"]] : [])];
  document.getElementById("sections").append(...links.map(([id, title]) => element("a", { href: "#" + id }, title)));
  choose(0);
}

/** Says why a run has no series; nothing for a run that has. */
function absent(run, what) {
  if (run.series) return element("p", { class: "empty" });
  const why = run.engine === "packet" || run.engine === ""
    ? "run the experiment with `series = true` in [record]" : `the ${run.engine} engine does not record them; the packet and the flow engine do`;
  return element("p", { class: "note" }, `${what} missing: ${why}.`);
}

/** The loads and the queues of the hottest links over time. */
function linksOverTime(run) {
  if (!run.series) return [];
  const curves = key => run.links.slice(0, 6).map(link => ({
    name: `${nodeOf(run, link.from)} → ${nodeOf(run, link.to)}`,
    points: (run.series.links[link.link]?.[key] ?? []).map((value, i) => [run.series.begin_us + (i + 0.5) * run.series.interval_us, value]),
  }));
  const x = "us since the start";
  const loads = chart({ title: "Loads of the hottest links", x, y: "load", series: curves("load") });
  if (!run.series.queue_max_bytes) return [loads];
  return [loads, chart({ title: "Queues of the hottest links", x, y: "bytes", series: curves("queue") })];
}

function claims() {
  if (DATA.figures.length === 0) return;
  section("claims", "Claims", "What a paper says, what these runs measured, and whether that is in the accepted range.",
    ...DATA.figures.map(claimsTable));
}

/** The plots of figures and sweeps, as their files have them. */
function plots() {
  if (DATA.pictures.length === 0) return;
  section("plots", "Plots", null, ...DATA.pictures.map(({ directory, svg }) => {
    const words = [...new DOMParser().parseFromString(svg, "image/svg+xml").querySelectorAll("text")].map(text => text.textContent.trim());
    const alt = `Plots in ${directory}. Their words, without numbers: ${words.filter(word => /\p{L}{2}/u.test(word)).join("; ")}.`;
    const picture = element("img", { src: "data:image/svg+xml," + encodeURIComponent(svg), alt });
    return element("figure", { class: "plots" }, picture, element("figcaption", {}, `${directory}/figure.svg`));
  }));
}

function definitions() {
  const entries = DATA.definitions.flatMap(({ term, aside, meaning }) => [
    element("dt", { id: anchor(term) }, term, element("span", {}, ` ${aside}`)), element("dd", {}, meaning)]);
  section("definitions", "Definitions", null, element("dl", {}, ...entries));
  document.getElementById("main").append(element("p", { class: "note" }, `Made by raddle ${DATA.version}.`));
}

if (DATA.runs.length > 0) {
  document.title = isSummarised ? `Raddle report: ${DATA.groups.runs} runs` : `Raddle report: ${DATA.runs.map(run => run.name).join(", ")}`;
  summary();
  plots();
  claims();
  times();
  overTime();
  oneRun();
} else {
  plots();
  claims();
}
definitions();
