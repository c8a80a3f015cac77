"use strict";
// The activity of ranks over time: a row for each rank with three lanes, for computing, sending and receiving.

const LANES = [["computing", 1], ["sending", 0], ["receiving", 2]];

/** The timeline of a run's ranks. `mark(us)` draws a line at a time; null removes the line. */
function timelineView(run) {
  const { begin_us: begin, interval_us: step, count, ranks, ...times } = run.rank_series;
  const lanes = LANES.map(([name, colour]) => ({ name, colour, bytes: bytesOf(times[name].shares), us: times[name].us }));
  const row = Math.max(9, Math.min(27, Math.floor(480 / ranks.length / 3) * 3));
  const [left, top, bottom, width] = [70, 4, 40, 960];
  const height = top + ranks.length * row + bottom;
  const end = Math.max(step, ...run.ranks.map(rank => rank[2] ?? 0).map(us => us - begin), count * step * Number(run.ranks.some(rank => rank[2] === null)));
  const at = us => left + (us - begin) / end * (width - left - 16);
  const share = lane => lane.us.reduce((sum, us) => sum + us, 0) / ranks.length / end;
  const label = `Timeline of ${shown(ranks.length)} ranks of ${run.name}. Mean shares of the time: ` + lanes.map(lane => `${lane.name} ${percent(share(lane))}`).join(", ") + ".";
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const axes = shape("g", { class: "axes" });
  const found = ticks(begin, begin + end, false);
  const names = tickNames(found, false);
  for (const [i, tick] of found.entries()) {
    axes.append(shape("line", { x1: at(tick), x2: at(tick), y1: top, y2: height - bottom }),
      shape("text", { x: at(tick), y: height - bottom + 16, "text-anchor": "middle" }, names[i]));
  }
  axes.append(shape("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle", class: "label" }, "us since the start"));
  const every = Math.ceil(12 / row);
  ranks.forEach((rank, place) => {
    if (place % every === 0) axes.append(shape("text", { x: left - 6, y: top + place * row + row / 2 + 4, "text-anchor": "end" }, `rank ${rank}`));
  });
  picture.append(axes);
  for (const [i, lane] of lanes.entries()) {
    // Equal neighbours are one bar. Bars of one shade are one path, so that a picture has few elements.
    const shades = new Map();
    for (let place = 0; place < ranks.length; place++) {
      const shade = time => Math.ceil(lane.bytes[place * count + time] / 255 * 5);
      for (let time = 0; time < count;) {
        const from = time;
        while (time < count && shade(time) === shade(from)) time++;
        if (shade(from) === 0) continue;
        const [x0, x1] = [at(begin + from * step), at(Math.min(begin + time * step, begin + end))];
        const y = top + place * row + i * (row - 1) / 3;
        const bar = `M${x0.toFixed(1)} ${y.toFixed(1)}H${x1.toFixed(1)}v${((row - 1) / 3).toFixed(1)}H${x0.toFixed(1)}z`;
        shades.set(shade(from), (shades.get(shade(from)) ?? "") + bar);
      }
    }
    for (const [shade, d] of shades) picture.append(shape("path", { d, fill: colourOf(lane.colour), "fill-opacity": shade / 5 }));
  }
  const cursor = shape("line", { class: "cursor", y1: top, y2: height - bottom, visibility: "hidden" });
  picture.append(cursor);
  const readout = element("p", { class: "readout" }, "\u00a0");
  picture.addEventListener("pointermove", event => {
    const box = picture.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
    const place = Math.floor((y - top) / row);
    const time = Math.floor((x - left) / (width - left - 16) * end / step);
    if (place < 0 || place >= ranks.length || time < 0 || time >= count) return;
    const parts = lanes.map(lane => `${lane.name} ${percent(lane.bytes[place * count + time] / 255)}`);
    readout.textContent = `rank ${ranks[place]}, ${shown(begin + time * step)} to ${shown(begin + (time + 1) * step)} us: ${parts.join(", ")}`;
  });
  const key = ({ name, colour }) => element("li", {}, shape("svg", { viewBox: "0 0 26 8", "aria-hidden": "true" },
    shape("rect", { width: 26, height: 8, fill: colourOf(colour) })), name);
  const total = run.ranks.length;
  const note = ranks.length < total
    ? ` ${ranks.length} of ${shown(total)} ranks are drawn: the ${ranks.length / 2} that end last, then the ${ranks.length / 2} that end first.` : "";
  const rows = ranks.map((rank, place) => [String(rank), ...lanes.map(lane => lane.us[place])]);
  const node = element("figure", { class: "chart timeline" },
    element("figcaption", {}, element("h3", {}, "Ranks over time"), element("p", {},
      "Three lanes a rank: it computes, its messages are under way, messages to it are under way. "
      + "A paler bar covers a part of its interval. Where a rank has no bar, it waits." + note)),
    picture, element("ul", { class: "legend" }, ...lanes.map(key)), readout,
    element("details", {}, element("summary", {}, "Numbers"), table("Time of the drawn ranks", ["rank", "computing us", "sending us", "receiving us"], rows)));
  const mark = us => fill(cursor, us === null ? { visibility: "hidden" } : { x1: at(us), x2: at(us), visibility: "visible" }, []);
  return { node, mark };
}

/** The throughput of the senders and of the flows with the most bytes. */
function ratesView(run) {
  const { begin_us: begin, interval_us: step, senders, sender_count: count, flows } = run.rates;
  const curve = (name, gbps) => ({ name, points: gbps.map((value, i) => [begin + (i + 0.5) * step, value]) });
  const x = "us since the start";
  const most = senders.length < count ? `The ${senders.length} of ${shown(count)} hosts that sent most.` : "All hosts that sent.";
  return [
    chart({ title: "Throughput of senders", note: `${most} Application bytes at their receivers.`, x, y: "Gbps", steps: false,
      series: senders.map(({ src, gbps }) => curve(nodeOf(run, src), gbps)) }),
    chart({ title: "Throughput of the largest flows", x, y: "Gbps", note: "Application bytes at the receiver of the flow.",
      series: flows.map(({ flow, src, gbps }) => curve(`flow ${flow} of ${nodeOf(run, src)}`, gbps)) }),
  ];
}
