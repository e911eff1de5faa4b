"use strict";
// Charts: unpacked, arranged for the width there is, inked for light or dark, drawn, and saved.
const attnlabCharts = (() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;

  // --- data inside the page

  async function unpack(id) {
    const letters = atob(document.getElementById(id).textContent.trim());
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  async function description(node) {
    const holder = document.querySelector(`script[data-chart="${node.id}"]`);
    if (holder.type === "application/json") return JSON.parse(holder.textContent);
    return JSON.parse(new TextDecoder().decode(await unpack(holder.id)));
  }

  // --- words in the room there is

  const PANEL = 230, LETTER = 6.6, GAP = 28;

  /** Text in lines of at most so many pixels, as far as its words allow. */
  function lines(text, pixels) {
    const made = [];
    for (const word of String(text).split(" ")) {
      const last = made[made.length - 1];
      if (last !== undefined && (last.length + 1 + word.length) * LETTER <= pixels) made[made.length - 1] = last + " " + word;
      else made.push(word);
    }
    return made;
  }

  /** An expression that shows long labels in several lines; null where none is too long. */
  function wrapped(values, pixels) {
    const long = values.filter((value) => String(value).length * LETTER > pixels);
    if (!long.length) return null;
    const table = Object.fromEntries(long.map((value) => [String(value), lines(value, pixels)]));
    return `${JSON.stringify(table)}[datum.label] || (datum.label)`; // in a header the label is itself a condition
  }

  const named = (channel) => Boolean(channel && channel.field && ["nominal", "ordinal"].includes(channel.type));

  function rowsOf(spec, root) {
    const data = spec.data || {};
    return data.values || (root.datasets || {})[data.name] || [];
  }

  function distinct(rows, field) {
    return [...new Set(rows.map((row) => row[field]).filter((value) => value !== null && value !== undefined))];
  }

  /** Every single view below a chart, with the rows it draws. */
  function views(spec, root, rows = []) {
    const own = rowsOf(spec, root);
    const here = own.length ? own : rows;
    const inner = spec.layer || spec.concat || spec.hconcat || spec.vconcat || (spec.spec ? [spec.spec] : null);
    if (!inner) return [[spec, here]];
    return inner.flatMap((part) => views(part, root, here));
  }

  function wrapTitles(part, width, height) {
    for (const [channel, room] of [["x", width], ["y", height]]) {
      const encoding = (part.encoding || {})[channel];
      if (encoding && typeof encoding.title === "string") encoding.title = lines(encoding.title, room);
    }
    if (part.title && typeof part.title === "object" && typeof part.title.text === "string") part.title.text = lines(part.title.text, width + 40);
    for (const inner of part.layer || []) wrapTitles(inner, width, height);
  }

  /** Pixels that names at the left of rows may take. */
  const beside = (panel) => Math.max((panel > 500 ? 0.42 : 0.33) * panel, 70);

  /** Pixels that the labels of a chart's rows take at its left. */
  function leftOf(spec, root, panel) {
    const wide = views(spec, root).flatMap(([view, rows]) => {
      const y = (view.encoding || {}).y;
      return named(y) ? distinct(rows, y.field).map((name) => String(name).length * LETTER) : [40];
    });
    return Math.min(Math.max(...wide, 40), beside(panel)) + 10;
  }

  const LEGENDS = ["color", "fill", "shape", "strokeDash", "opacity"];

  function wrapLegends(spec, width, panel) {
    const room = width - leftOf(spec, spec, panel);
    for (const [view, rows] of views(spec, spec)) {
      for (const channel of LEGENDS) {
        const one = (view.encoding || {})[channel];
        if (!one || !one.field || one.legend === null || one.type === "quantitative") continue;
        const names = (one.scale && one.scale.domain) || distinct(rows, one.field);
        if (!Array.isArray(names)) continue;
        const longest = Math.min(Math.max(...names.map((name) => String(name).length), 1) * LETTER, room - 30);
        const columns = Math.max(1, Math.floor(room / (longest + 40)));
        const orient = (one.legend || {}).orient === "bottom" ? "bottom" : "top";
        one.legend = { ...one.legend, orient, labelLimit: 0, columns: Math.min(columns, names.length) };
        const split = wrapped(names, room - 30);
        if (split) one.legend.labelExpr = split;
      }
    }
  }

  /** Names along an axis in lines: of rows at the left, of columns below, where they then need not be turned. */
  function wrapNames(spec, panel) {
    const most = beside(panel);
    for (const [view, rows] of views(spec, spec)) {
      const { x, y } = view.encoding || {};
      if (named(y) && y.axis !== null && !(y.axis && y.axis.labelExpr)) {
        const names = distinct(rows, y.field), split = wrapped(names, most);
        y.axis = { ...y.axis, labelLimit: 0, ...(split ? { labelExpr: split } : {}) };
        const tallest = Math.max(1, ...names.map((name) => lines(name, most).length));
        spec.atLeast = Math.max(spec.atLeast || 0, names.length * (13 * tallest + 2));
        if (split && typeof spec.height === "number") spec.height = Math.max(spec.height, names.length * (14 * tallest + 6));
      }
      if (named(x) && x.axis !== null && !(x.axis && (x.axis.labelExpr || x.axis.labelAngle))) {
        const names = distinct(rows, x.field), room = (panel - 60) / names.length - 6;
        const fits = names.every((name) => String(name).split(" ").every((word) => word.length * LETTER <= room));
        const split = wrapped(names, room);
        if (fits) x.axis = { ...x.axis, labelLimit: 0, labelAngle: 0, ...(split ? { labelExpr: split } : {}) };
      }
    }
  }

  // --- axes

  const MARKED = "abs(datum.value) >= 1e5 || (datum.value != 0 && abs(datum.value) < 1e-3) ? format(datum.value, '.0e') : format(datum.value, ',~g')";

  /** As many numbers along an axis as there is room for; on a logarithmic one powers of ten, or 1, 2, 5 within few. */
  function setTicks(spec, panel) {
    const every = views(spec, spec);
    for (const [channel, room] of [["x", panel - 60], ["y", 150]]) {
      const fields = (part) => [channel, `${channel}2`].map((name) => ((part.encoding || {})[name] || {}).field).filter(Boolean);
      const values = every.flatMap(([view, rows]) => fields(view).flatMap((field) => rows.map((row) => row[field]))).filter((value) => typeof value === "number" && value > 0);
      for (const [view] of every) {
        const one = (view.encoding || {})[channel];
        if (!one || one.type !== "quantitative" || one.axis === null || (one.axis && one.axis.values)) continue;
        const log = Boolean(one.scale && one.scale.type === "log");
        const most = Math.max(2, Math.floor(room / (channel === "y" ? 28 : log ? 48 : 62)));
        if (!log) one.axis = { tickCount: Math.min(most, 10), ...one.axis };
        else if (values.length) one.axis = { labelExpr: MARKED, ...one.axis, values: powers(values, most) };
      }
    }
  }

  function powers(values, most) {
    const low = Math.floor(Math.log10(values.reduce((a, b) => Math.min(a, b)))), high = Math.ceil(Math.log10(values.reduce((a, b) => Math.max(a, b))));
    const step = Math.max(1, Math.ceil((high - low) / most)), made = [];
    for (let at = low; at <= high; at += step) made.push(...(high - low > 2 ? [1] : [1, 2, 5]).map((part) => Number(`${part}e${at}`)));
    return made;
  }

  /** The chart arranged for a width: panels side by side as far as there is room. Returns the views whose width counts. */
  function arrange(spec, width) {
    let columns = 1, sized = [spec];
    if (spec.facet) {
      const rows = rowsOf(spec, spec);
      if (spec.facet.column && !spec.facet.row) spec.facet = spec.facet.column;
      if (spec.facet.field) {
        const names = distinct(rows, spec.facet.field);
        const room = Math.max(1, Math.floor(width / PANEL));
        columns = Math.ceil(names.length / Math.ceil(names.length / Math.min(room, names.length || 1)));
        spec.columns = columns;
        const split = wrapped(names, width / columns - 2 * GAP - 20);
        spec.facet.header = { ...spec.facet.header, labelLimit: 0, ...(split ? { labelExpr: split } : {}) };
      } else columns = distinct(rows, (spec.facet.column || {}).field).length || 1;
      spec.spacing = { column: GAP, row: 20 };
      sized = [spec.spec];
    } else if (spec.hconcat || spec.vconcat || spec.concat) {
      const parts = spec.hconcat || spec.vconcat || spec.concat;
      columns = spec.vconcat ? 1 : Math.min(parts.length, Math.max(1, Math.floor(width / (PANEL + 60))));
      delete spec.hconcat, delete spec.vconcat;
      Object.assign(spec, { concat: parts, columns });
      sized = parts;
    }
    const panel = width / columns;
    for (const one of sized) wrapTitles(one, panel - 60, typeof one.height === "number" ? Math.max(one.height, 120) : 190);
    wrapLegends(spec, width, panel);
    wrapNames(spec, panel);
    setTicks(spec, panel);
    return [sized, columns];
  }

  // --- colours

  const LIT = {
    "#d55e00": "#ff9447", "#0072b2": "#5eb5f2", "#009e73": "#3ccfa3", "#cc79a7": "#e8a3c8", "#e69f00": "#ffc247", "#56b4e9": "#a5dcff",
    "#d62728": "#ff7b72", "#1f77b4": "#6fb6ee", "#2ca02c": "#6fd46f", "#e4e4e4": "var(--line)", white: "var(--paper)",
  };
  const SCHEMES = { blues: ["#1b2530", "#9fd3ff"], purpleorange: ["#ffb36b", "#1f242a", "#c3a5ff"] };

  /** The same chart for a dark page: lighter colours, and cells that are bright where they would be dark. */
  function inked(part) {
    if (Array.isArray(part)) return part.map(inked);
    if (typeof part === "string") return LIT[part.toLowerCase()] || part.replace("darkest", "brightest");
    if (!part || typeof part !== "object") return part;
    const made = {};
    for (const [key, value] of Object.entries(part)) made[key] = ["datasets", "values", "domain", "test"].includes(key) ? value : inked(value);
    if (SCHEMES[part.scheme]) {
      delete made.scheme;
      Object.assign(made, { range: SCHEMES[part.scheme], interpolate: "lab" }, SCHEMES[part.scheme].length > 2 ? { domainMid: 0 } : {});
    } else if (Array.isArray(part.range) && part.range[0] === "#ffffff") made.range = SCHEMES.blues;
    return made;
  }

  // --- drawing

  async function embed(node, spec) {
    const shown = await vegaEmbed(node, spec, { actions: false, renderer: "svg", ast: true, tooltip: { theme: "custom" } });
    node.view = shown.view;
    const svg = node.querySelector("svg");
    svg.setAttribute("aria-hidden", "true"); // the chart's own words are read instead of each of its marks
    return [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
  }

  /** Draw to a width; room that axes and legends take is found by drawing. Returns the chart as it was drawn. */
  async function fit(node, original, width, most, change) {
    const single = !(original.facet || original.hconcat || original.vconcat || original.concat);
    let spec, sized, columns, panel, scale = 1, total, high;
    const anew = () => {
      spec = JSON.parse(JSON.stringify(original));
      change(spec);
      [sized, columns] = arrange(spec, width);
    };
    anew();
    panel = single ? width - 70 : width / columns - 60;
    for (let attempt = 0; attempt < 4; attempt++) {
      const least = spec.atLeast || 60;
      delete spec.atLeast;
      let shrinks = false;
      for (const one of sized) {
        one.width = Math.max(40, panel);
        if (typeof one.height !== "number") continue;
        shrinks = shrinks || one.height * scale > least;
        one.height = Math.max(Math.min(least, one.height), one.height * scale);
      }
      [total, high] = await embed(node, spec);
      const fits = Math.abs(total - width) <= 2, low = high <= most || !shrinks;
      if ((fits && low) || (panel <= 40 && total > width)) break;
      if (!fits) panel = Math.max(40, panel + (width - total - 1) / columns);
      if (!low) scale *= Math.max(0.4, (most - 60) / (high - 60));
      anew();
    }
    // Labels that cannot be broken: the picture as a whole becomes a little smaller.
    if (total > width) Object.assign(node.querySelector("svg").style, { width: "100%", height: "auto" });
    raiseAxes(node, columns);
    inkNumbers(node);
    return spec;
  }

  /** Numbers on coloured cells in the ink, dark or bright, that is read better on each. */
  function inkNumbers(node) {
    for (const numbers of all(".mark-text.role-mark", node)) {
      const cells = all(":scope > .mark-rect.role-mark > path", numbers.parentElement), texts = all(":scope > text", numbers);
      if (!texts.length || cells.length !== texts.length) continue;
      texts.forEach((text, k) => {
        const parts = (getComputedStyle(cells[k]).fill.match(/[\d.]+/g) || []).map((part) => (part / 255 <= 0.04 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4));
        const light = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
        text.style.fill = light > 0.18 ? "#10151a" : "#ffffff";
      });
    }
  }

  /** Where the last row has fewer panels, the axes that would stand below nothing move up to the panel above. */
  function raiseAxes(node, columns) {
    const cells = all("g.cell > g", node), missing = (columns - (cells.length % columns)) % columns;
    if (!missing || cells.length < columns) return;
    const place = (part) => part.getAttribute("transform").match(/-?[\d.]+/g).map(Number);
    const pitch = place(cells[cells.length - 1])[1] - place(cells[cells.length - 1 - columns])[1];
    const footers = all("g.role-column-footer > g", node);
    for (const footer of footers.slice(footers.length - missing)) {
      const [x, y] = place(footer);
      footer.setAttribute("transform", `translate(${x},${y - pitch})`);
    }
  }

  /** Pixels that a chart has; inside a tab that is not open, those that it will have. */
  const widthOf = (node) => node.clientWidth || (node.closest("[role=tabpanel][hidden]") && node.closest(".tabs").clientWidth) || 0;

  /** One drawing of a chart after the other, each to the width that there is by then. */
  function draw(node) {
    node.drawing = (node.drawing || Promise.resolve()).then(() => drawNow(node));
    return node.drawing;
  }

  async function drawNow(node) {
    const width = widthOf(node), how = `${width} ${dark()}`;
    if (!width || node.drawnAt === how) return;
    try {
      const original = await description(node);
      const below = !matchMedia("(min-width: 62rem)").matches; // then the figure may be as high as it is
      await render(node, dark() ? inked(original) : original, width, (!below && Number(node.dataset.most)) || Infinity);
      node.drawnAt = how;
      mark(node);
    } catch (error) {
      node.className = "chart-failed";
      node.textContent = `This chart cannot be drawn: ${error.message || error}`;
    }
  }

  /** With names beside their lines, or with a legend where there is no room for them. */
  async function render(node, original, width, most) {
    const { field, why, unnamed } = attnlabLabels.wanted(original, views);
    let reason = why;
    if (field) {
      await fit(node, original, width, most, (spec) => attnlabLabels.withoutLegend(spec, field, views));
      reason = unnamed ? "" : attnlabLabels.place(node, field);
    }
    if (!field || reason) await fit(node, original, width, most, () => {});
    node.dataset.names = reason ? "legend" : field && !unnamed ? "direct" : "none";
    node.dataset.why = reason;
  }

  /** Say on each line and point which seed it is, so that a seed can be followed from chart to chart. */
  function mark(node) {
    for (const path of all(".mark-line path, .mark-symbol path", node)) {
      const bound = path.__data__, item = Array.isArray(bound) ? bound[0] : bound;
      const datum = item && (item.datum || (item.items && item.items[0] && item.items[0].datum));
      if (!datum || datum.seed === undefined || datum.seed === null || datum.seed === "") continue;
      path.dataset.seed = datum.seed;
      path.dataset.setting = datum.setting === undefined ? "" : datum.setting;
    }
  }

  /** A chart to keep: as it is on a light page, whatever this one is. */
  async function picture(node) {
    const room = document.createElement("div");
    Object.assign(room.style, { position: "absolute", left: "-99999px", width: `${node.clientWidth}px` });
    room.className = "light";
    document.body.append(room);
    try {
      await render(room, await description(node), node.clientWidth, Infinity);
      const svg = room.querySelector("svg");
      svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      const inks = { currentColor: "#1f2328", "var(--line)": "#d5dae0", "var(--paper)": "#ffffff" };
      return Object.entries(inks).reduce((text, [name, ink]) => text.replaceAll(name, ink), svg.outerHTML);
    } finally {
      room.remove();
    }
  }

  /** Charts that are seen first are drawn first, then those of tabs that are not open: printed, all of them are. */
  async function drawAll() {
    const inOrder = async (nodes) => {
      for (const node of nodes) {
        await draw(node);
        await new Promise((go) => setTimeout(go));
      }
    };
    const charts = all(".chart[id]");
    await inOrder(charts.filter((one) => one.clientWidth));
    document.documentElement.dataset.drawn = "yes";
    await inOrder(charts.filter((one) => !one.clientWidth));
    document.documentElement.dataset.drawn = "all";
  }

  return { unpack, draw, drawAll, picture };
})();
