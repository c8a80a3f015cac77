"use strict";
// The fabric on a canvas: tiers, a grid in 3D, or a graph. The colour of an edge is its load at a time.

/** Bytes from base64. */
function bytesOf(text) {
  return Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
}

/** The positions of nodes, each coordinate from -1 to 1. */
function positionsOf({ layout, dims, nodes, edges }) {
  if (layout === "grid") return gridPositions(dims, nodes);
  if (layout === "tiers") return tierPositions(nodes);
  return graphPositions(nodes, edges);
}

function gridPositions(dims, nodes) {
  const most = Math.max(...dims);
  return nodes.map(([node]) => {
    const at = [0, 0, 0];
    let rest = node;
    dims.forEach((size, i) => {
      const place = (rest % size - (size - 1) / 2) / (most / 2);
      // A fourth dimension repeats the grid beside itself.
      at[i % 3] += i < 3 ? place : place * 0.12;
      rest = Math.floor(rest / size);
    });
    return at;
  });
}

function tierPositions(nodes) {
  const tiers = new Map();
  nodes.forEach(([, tier], i) => tiers.set(tier, [...(tiers.get(tier) ?? []), i]));
  const highest = Math.max(1, ...tiers.keys());
  const at = new Array(nodes.length);
  for (const [tier, members] of tiers) {
    members.forEach((node, i) => {
      at[node] = [2 * (i + 0.5) / members.length - 1, 2 * tier / highest - 1, 0];
    });
  }
  return at;
}

/** A spring layout (Fruchterman and Reingold), from a spiral, so that each page shows the same. */
function graphPositions(nodes, edges) {
  const count = nodes.length;
  const at = nodes.map((_, i) => {
    const radius = Math.sqrt((i + 0.5) / count);
    return [radius * Math.cos(2.39996 * i), radius * Math.sin(2.39996 * i), 0];
  });
  const ideal = 1.4 / Math.sqrt(count);
  const rounds = Math.max(5, Math.min(200, Math.round(4e7 / (count * count))));
  for (let round = 0; round < rounds; round++) {
    const force = at.map(() => [0, 0]);
    const push = (i, j, size, dx, dy) => {
      force[i][0] += dx * size; force[i][1] += dy * size; force[j][0] -= dx * size; force[j][1] -= dy * size;
    };
    for (let i = 0; i < count; i++) {
      for (let j = 0; j < i; j++) {
        const [dx, dy] = [at[i][0] - at[j][0], at[i][1] - at[j][1]];
        push(i, j, ideal * ideal / (dx * dx + dy * dy + 1e-6), dx, dy);
      }
    }
    for (const [i, j] of edges) {
      const [dx, dy] = [at[i][0] - at[j][0], at[i][1] - at[j][1]];
      push(i, j, -Math.hypot(dx, dy) / ideal, dx, dy);
    }
    const most = 0.15 * (1 - round / rounds);
    at.forEach((place, i) => {
      const size = Math.hypot(...force[i]) || 1;
      place[0] += force[i][0] / size * Math.min(size, most);
      place[1] += force[i][1] / size * Math.min(size, most);
    });
  }
  const far = Math.max(1e-9, ...at.flatMap(place => [Math.abs(place[0]), Math.abs(place[1])]));
  return at.map(([x, y]) => [x / far, y / far, 0]);
}

/** The view before the user turns, moves or zooms the fabric. */
const START = { yaw: 0.55, pitch: 0.4, zoom: 1, x: 0, y: 0 };

/** The fabric of a run, with its controls. `highlight(edges, text)` marks the edges of a path. `showTime(us)` hears of the middle
 * of each chosen interval, or null for the whole run. */
function fabricView(run, showTime) {
  const { fabric, series } = run;
  const name = index => nodeName(run, index);
  const positions = positionsOf(fabric);
  const isGrid = fabric.layout === "grid";
  const count = fabric.edges.length;
  const loads = series ? bytesOf(series.edge_load) : null;
  const queues = series?.edge_queue ? bytesOf(series.edge_queue) : null;
  const view = { ...START, path: new Set(), time: -1, heat: "load" };
  /** Width of the names of tiers, to the left of the drawing. */
  let gutter = 0;

  const canvas = element("canvas", { tabindex: 0, role: "img" });
  const pen = canvas.getContext("2d");
  const readout = element("p", { class: "readout", "aria-live": "polite" }, "\u00a0");
  const clock = element("output", {});

  /** The heat of an edge, from 0 to 1. */
  const heat = edge => {
    if (view.heat === "queue") {
      if (view.time >= 0) return queues[view.time * count + edge] / 255;
      let most = 0;
      for (let time = 0; time < series.count; time++) most = Math.max(most, queues[time * count + edge]);
      return most / 255;
    }
    return view.time < 0 ? Math.min(1, run.load[edge]) : loads[view.time * count + edge] / 255;
  };
  const heatText = edge => view.heat === "queue"
    ? `queue ${shown(Math.round(heat(edge) * series.queue_scale_bytes))} B` : `load ${percent(Number(heat(edge).toFixed(3)))}`;

  /** A point of the grid after the turn of a view: across, up, and its depth behind the middle. */
  function turn([x, y, z], { yaw, pitch }) {
    const [sin, cos] = [Math.sin(yaw), Math.cos(yaw)];
    const [turned, deep] = [x * cos + z * sin, z * cos - x * sin];
    const [tilt, level] = [Math.sin(pitch), Math.cos(pitch)];
    const [high, depth] = [y * level - deep * tilt, deep * level + y * tilt];
    const near = 4 / (4 + depth);
    return [turned * near, high * near, depth];
  }

  /** Length of the stub of a wrap-around link. */
  const stubLength = 0.45 * 2 / Math.max(1, ...fabric.dims);
  const moved = (place, axis, by) => place.map((x, i) => i === axis ? x + by : x);

  /** The least and the greatest coordinates of the grid, with its stubs, before its first turn. */
  const extent = (() => {
    const ends = positions.flatMap(place => [0, 1, 2].slice(0, fabric.dims.length).flatMap(axis => [-1, 1].map(sign => turn(moved(place, axis, sign * stubLength), START))));
    return [0, 1].map(i => [Math.min, Math.max].map(end => ends.reduce((most, place) => end(most, place[i]), 0)));
  })();

  function project(position) {
    const [width, height] = [canvas.width, canvas.height];
    if (!isGrid) {
      const [x, y] = position;
      const room = (width - gutter) * 0.49;
      return [gutter + room + (x * view.zoom + view.x) * room, (0.5 - (y * view.zoom + view.y) * 0.43) * height, 1];
    }
    // Before its first turn, the grid fills the canvas.
    const [across, up] = extent.map(([least, most]) => ({ middle: (least + most) / 2, length: Math.max(most - least, 0.2) }));
    const size = 0.96 * Math.min(width / across.length, height / up.length) * view.zoom;
    const [x, y, depth] = turn(position, view);
    return [width / 2 + (x - across.middle) * size + view.x * width * 0.47, height / 2 - (y - up.middle) * size - view.y * height * 0.43, depth];
  }

  /** The lines of an edge on the canvas. A wrap-around link of a grid is drawn as two stubs. */
  function lines(edge, places) {
    const [a, b] = fabric.edges[edge];
    const [from, to] = [positions[a], positions[b]];
    const axis = isGrid ? [0, 1, 2].find(i => Math.abs(from[i] - to[i]) > 3 * stubLength) : undefined;
    if (axis === undefined) return [[places[a], places[b]]];
    const stub = (place, sign) => project(moved(place, axis, sign * stubLength));
    const sign = Math.sign(from[axis] - to[axis]);
    return [[places[a], stub(from, sign)], [places[b], stub(to, -sign)]];
  }

  /** The names of the tiers, by tier. Other layouts have none. */
  const tierTexts = new Map();
  for (const [, tier, hosts] of fabric.layout === "tiers" ? fabric.nodes : []) {
    if (tierTexts.has(tier)) continue;
    const many = fabric.nodes.filter(node => node[1] === tier).length;
    tierTexts.set(tier, hosts > 0 ? `hosts, ${hosts} in a dot` : plural(fabric.tier_names[tier] ?? "switch", many));
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const box = canvas.getBoundingClientRect();
    if (box.width === 0) return;
    [canvas.width, canvas.height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    const style = getComputedStyle(document.documentElement);
    const colour = variable => style.getPropertyValue(variable).trim();
    pen.font = `${12 * ratio}px system-ui, sans-serif`;
    gutter = Math.max(0, ...[...tierTexts.values()].map(text => pen.measureText(text).width + 16 * ratio));
    const palette = ["--heat-0", "--heat-1", "--heat-2", "--heat-3"].map(colour);
    const places = positions.map(project);
    const order = [...fabric.edges.keys()].map(edge => [heat(edge), edge]).sort((a, b) => a[0] - b[0]);
    const thin = count > 3000 ? 0.5 : 1;
    pen.lineCap = "round";
    // Edges of one shade are one path, which is fast for tens of thousands of edges.
    const shades = 24;
    let next = 0;
    for (let shade = 0; shade < shades; shade++) {
      const value = (shade + 0.5) / shades;
      pen.beginPath();
      for (; next < order.length && (order[next][0] <= (shade + 1) / shades || shade === shades - 1); next++) {
        for (const [from, to] of lines(order[next][1], places)) { pen.moveTo(from[0], from[1]); pen.lineTo(to[0], to[1]); }
      }
      pen.strokeStyle = mixed(palette, value);
      pen.globalAlpha = view.path.size > 0 ? 0.75 : count > 3000 ? 0.35 + 0.65 * value : 1;
      pen.lineWidth = (0.8 + 3.2 * value) * thin * ratio;
      pen.stroke();
    }
    pen.globalAlpha = 1;
    if (view.path.size > 0) {
      pen.beginPath();
      for (const edge of view.path) {
        for (const [from, to] of lines(edge, places)) { pen.moveTo(from[0], from[1]); pen.lineTo(to[0], to[1]); }
      }
      pen.strokeStyle = colour("--accent");
      pen.lineWidth = 4 * ratio;
      pen.stroke();
    }
    const room = Math.sqrt(box.width * box.height / Math.max(1, positions.length));
    const radius = Math.max(1.2, Math.min(7, room / 7)) * ratio;
    fabric.nodes.forEach(([, tier, hosts], i) => {
      pen.beginPath();
      const size = isGrid ? radius * 4 / (4 + places[i][2]) : radius * (tier === 0 && hosts === 0 ? 0.7 : 1);
      if (tier === 0) pen.arc(places[i][0], places[i][1], size, 0, 7);
      else pen.rect(places[i][0] - size, places[i][1] - size, 2 * size, 2 * size);
      pen.fillStyle = colour("--text");
      pen.fill();
      pen.lineWidth = ratio;
      pen.strokeStyle = colour("--back");
      pen.stroke();
    });
    for (const [tier, text] of tierTexts) {
      const [left, middle] = [8 * ratio, places[fabric.nodes.findIndex(node => node[1] === tier)][1]];
      // A part of the fabric that was moved or zoomed may lie behind the text.
      pen.fillStyle = colour("--back");
      pen.fillRect(0, middle - 10 * ratio, gutter - 4 * ratio, 20 * ratio);
      pen.fillStyle = colour("--soft");
      pen.fillText(text, left, middle + 4 * ratio);
    }
    const when = view.time < 0 ? "over the whole run" : `at ${clock.textContent}`;
    const [hottest, most] = order.length ? [order[order.length - 1][1], heatText(order[order.length - 1][1])] : [null, ""];
    canvas.setAttribute("aria-label", `Fabric of ${run.name}: ${run.nodes} nodes, ${run.hosts} hosts, ${count} drawn links, ${when}. `
      + (hottest === null ? "" : `Hottest: ${edgeName(hottest)}, ${most}.`));
  }

  const edgeName = edge => fabric.edges[edge].map(name).join(" – ");

  /** The nearest edge to a point of the canvas, in pixels of the screen. */
  function nearest(px, py) {
    const places = positions.map(project);
    let best = [12, null];
    for (let edge = 0; edge < count; edge++) {
      for (const [[ax, ay], [bx, by]] of lines(edge, places)) {
        const [dx, dy] = [bx - ax, by - ay];
        const along = Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy || 1)));
        const far = Math.hypot(px - ax - along * dx, py - ay - along * dy);
        if (far < best[0]) best = [far, edge];
      }
    }
    return best[1];
  }

  let held = null;
  canvas.addEventListener("pointerdown", event => { held = event; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", event => {
    if (held !== null) {
      move(event.clientX - held.clientX, event.clientY - held.clientY);
      held = event;
      return;
    }
    const box = canvas.getBoundingClientRect();
    const ratio = canvas.width / box.width;
    const edge = nearest((event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio);
    if (edge !== null) readout.textContent = `${edgeName(edge)}: ${heatText(edge)}`;
  });
  function move(dx, dy) {
    if (isGrid) {
      view.yaw += dx / 150;
      view.pitch = Math.max(-1.5, Math.min(1.5, view.pitch + dy / 150));
    } else {
      view.x += dx / 300;
      view.y -= dy / 300;
    }
    draw();
  }
  function zoom(factor) {
    view.zoom = Math.max(0.3, Math.min(20, view.zoom * factor));
    draw();
  }
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 200));
  }, { passive: false });
  canvas.addEventListener("keydown", event => {
    const act = {
      ArrowLeft: () => move(-15, 0), ArrowRight: () => move(15, 0), ArrowUp: () => move(0, -15), ArrowDown: () => move(0, 15),
      "+": () => zoom(1.2), "=": () => zoom(1.2), "-": () => zoom(1 / 1.2),
      0: () => { Object.assign(view, START); draw(); },
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  const controls = element("div", { class: "controls" });
  if (series) {
    const slider = element("input", { type: "range", min: -1, max: series.count - 1, value: -1 });
    const show = () => {
      view.time = Number(slider.value);
      const from = series.begin_us + view.time * series.interval_us;
      clock.textContent = view.time < 0 ? "whole run" : `${shown(from)} to ${shown(from + series.interval_us)} us`;
      slider.setAttribute("aria-valuetext", clock.textContent);
      showTime(view.time < 0 ? null : from + series.interval_us / 2);
      draw();
    };
    slider.addEventListener("input", show);
    let timer = null;
    const play = element("button", { type: "button", click: () => {
      if (timer !== null) { clearInterval(timer); timer = null; play.textContent = "Play"; return; }
      play.textContent = "Stop";
      timer = setInterval(() => {
        if (!canvas.isConnected) { clearInterval(timer); return; }
        slider.value = Number(slider.value) + 1 < series.count ? Number(slider.value) + 1 : 0;
        show();
      }, 120);
    } }, "Play");
    controls.append(element("label", { class: "time" }, "Time", slider), clock, play);
    if (queues) {
      const select = element("select", { change: () => { view.heat = select.value; scaleEnd.textContent = endText(); draw(); } },
        element("option", { value: "load" }, "load of links"), element("option", { value: "queue" }, "queues"));
      controls.append(element("label", {}, "Colour", select));
    }
    setTimeout(show);
  }
  controls.append(
    element("button", { type: "button", click: () => zoom(1.25) }, "Zoom in"),
    element("button", { type: "button", click: () => zoom(0.8) }, "Zoom out"));
  const endText = () => view.heat === "queue" ? `${brief(series.queue_scale_bytes)} bytes` : "100%";
  const scaleEnd = element("span", {}, endText());
  const legend = element("div", { class: "heat" }, "0", element("i", { "aria-hidden": "true" }), scaleEnd);

  new ResizeObserver(draw).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const help = isGrid ? "Drag or use the arrow keys to turn; + and - zoom, 0 resets. Wrap-around links are short stubs."
    : "Drag or use the arrow keys to move; + and - zoom, 0 resets.";
  const drawnFrom = series ? "" : " The time slider needs a run of the packet or the flow engine with `series = true` in [record].";
  const node = element("figure", { class: "fabric" },
    element("figcaption", {}, element("p", {}, `The colour of a link is the load of its busier direction, as a share of its rate${queues ? ", or its longer queue" : ""}. ` + help + drawnFrom)),
    controls, canvas, legend, readout);
  return { node, highlight(edges, text) { view.path = new Set(edges); readout.textContent = text; draw(); } };
}

/** A colour of a palette of hexadecimal colours, for a value from 0 to 1. */
function mixed(palette, value) {
  const at = Math.max(0, Math.min(1, value)) * (palette.length - 1);
  const i = Math.min(Math.floor(at), palette.length - 2);
  const channel = (colour, c) => parseInt(colour.slice(1 + 2 * c, 3 + 2 * c), 16);
  const parts = [0, 1, 2].map(c => {
    const [low, high] = [channel(palette[i], c), channel(palette[i + 1], c)];
    return Math.round(low + (high - low) * (at - i));
  });
  return `rgb(${parts.join(",")})`;
}

const plural = (word, count) => count === 1 ? word
  : word === "leaf" ? "leaves" : word.endsWith("ch") ? word + "es" : word + "s";

/** The name of a drawn node. */
function nodeName(run, index) {
  const [node, tier, hosts] = run.fabric.nodes[index];
  if (hosts > 0) return `hosts ${node} to ${node + hosts - 1}`;
  return `${run.fabric.tier_names[tier] ?? "switch"} ${node}`;
}

/** The name of a node by its number in the files. */
function nodeOf(run, number) {
  const drawn = run.fabric.drawn ? run.fabric.drawn[number] : number;
  const [, tier, hosts] = run.fabric.nodes[drawn];
  return `${hosts > 0 ? "host" : run.fabric.tier_names[tier] ?? "switch"} ${number}`;
}
