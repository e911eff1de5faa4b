"use strict";
// Names beside the lines and points that they are of, instead of a legend, where there is room that no mark takes.
const attnlabLabels = (() => {
  const MOST = 5, LETTER = 6.9, HIGH = 14, CELL = 3, APART = 10;
  const COLOURS = ["color", "fill", "shape", "stroke"];

  /** Which field's names are to stand beside their marks; else why they stand in a legend. */
  function wanted(original, views) {
    const found = new Map(), titled = [];
    for (const [view, rows] of views(original, original)) {
      for (const channel of COLOURS) {
        const one = (view.encoding || {})[channel];
        if (!one || !one.field || one.legend === null || one.type === "quantitative") continue;
        if (!found.has(one.field)) found.set(one.field, new Set());
        for (const row of rows) if (row[one.field] !== null && row[one.field] !== undefined) found.get(one.field).add(String(row[one.field]));
        if (one.title || (one.legend && one.legend.title)) titled.push(one.field);
      }
      if ((view.encoding || {}).strokeDash && view.encoding.strokeDash.field) return { why: "dashes have names too" };
    }
    if (!found.size) return { why: "" };
    if (found.size > 1) return { why: "colours and shapes mean different things" };
    const [[field, names]] = found;
    if (field === "seed") return { field, why: "", unnamed: true }; // which seed it is says its tooltip
    if (titled.length) return { why: "the names are numbers that need a title" };
    if (names.size > MOST) return { why: `${names.size} names` };
    return { field, why: "" };
  }

  function withoutLegend(spec, field, views) {
    for (const [view] of views(spec, spec))
      for (const channel of COLOURS) {
        const one = (view.encoding || {})[channel];
        if (one && one.field === field) one.legend = null;
      }
  }

  // --- what is drawn where

  const PARTS = /^(axis|legend|title|row-|column-)/;

  /** The panels of a drawing, each with its marks: name, points to write beside, and a way to fill cells. */
  function panelsOf(view, field) {
    const panels = [];
    const walk = (mark, x, y, panel) => {
      if (PARTS.test(mark.role || "")) return;
      for (const item of mark.items || []) {
        if (mark.marktype !== "group") continue;
        const [left, top] = [x + (item.x || 0), y + (item.y || 0)];
        let here = panel;
        const drawn = (one) => one.marktype !== "group" || /pathgroup/.test(one.name || "");
        if (item.width && item.height && !/pathgroup/.test(mark.name || "") && (item.items || []).some(drawn)) {
          here = { x: left, y: top, width: item.width, height: item.height, marks: [] };
          panels.push(here);
        }
        for (const inner of item.items || []) walk(inner, left, top, here);
      }
      if (mark.marktype !== "group" && panel && mark.items && mark.items.length) collect(mark, x - panel.x, y - panel.y, panel, field);
    };
    walk(view.scenegraph().root, 0, 0, null);
    return panels.filter((panel) => panel.marks.length);
  }

  function collect(mark, x, y, panel, field) {
    const nameOf = (item) => (item.datum && item.datum[field] !== undefined ? String(item.datum[field]) : "");
    if (mark.marktype === "line") {
      const items = mark.items.filter((item) => item.defined !== false), name = nameOf(items[0] || {}), points = [];
      items.forEach((item, k) => {
        const before = items[k - 1] || item, steps = Math.max(1, Math.ceil(Math.hypot(item.x - before.x, item.y - before.y) / CELL));
        for (let n = 1; n <= steps; n++) points.push([x + before.x + ((item.x - before.x) * n) / steps, y + before.y + ((item.y - before.y) * n) / steps]);
      });
      panel.marks.push({ name, points, colour: (items[0] || {}).stroke, boxes: [], line: true, weight: 1000 });
      return;
    }
    if (mark.marktype === "area") return; // pale bands: words can be read on them
    for (const item of mark.items) {
      const { x1, y1, x2, y2 } = item.bounds;
      const box = [x + x1, y + y1, x + x2, y + y2], middle = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
      const shown = (paint) => (paint && paint !== "transparent" ? paint : "");
      const ends = [[box[0], middle[1]], [box[2], middle[1]]];
      const small = Math.min(box[2] - box[0], box[3] - box[1]) < 12;
      const beside = mark.marktype === "symbol" ? [middle, ...ends] : mark.marktype === "rule" || (mark.marktype === "rect" && small) ? ends : [];
      panel.marks.push({ name: nameOf(item), points: beside, colour: shown(item.fill) || shown(item.stroke), boxes: [box], weight: mark.marktype === "symbol" ? 10 : 1 });
    }
  }

  /** How many cells of a box are taken: sums over rectangles from the corner. */
  function summed(panel, chosen) {
    const wide = Math.ceil(panel.width / CELL) + 1, high = Math.ceil(panel.height / CELL) + 1;
    const taken = new Uint8Array(wide * high), sums = new Int32Array((wide + 1) * (high + 1));
    const fill = (x, y) => {
      const [column, row] = [Math.floor(x / CELL), Math.floor(y / CELL)];
      if (column >= 0 && row >= 0 && column < wide && row < high) taken[row * wide + column] = 1;
    };
    for (const mark of panel.marks.filter(chosen)) {
      for (const [x, y] of mark.points) fill(x, y);
      for (const [x1, y1, x2, y2] of mark.boxes)
        for (let y = y1; y <= y2 + CELL; y += CELL) for (let x = x1; x <= x2 + CELL; x += CELL) fill(Math.min(x, x2), Math.min(y, y2));
    }
    for (let row = 0; row < high; row++)
      for (let column = 0, line = 0; column < wide; column++) {
        line += taken[row * wide + column];
        sums[(row + 1) * (wide + 1) + column + 1] = sums[row * (wide + 1) + column + 1] + line;
      }
    const edge = (value, most) => Math.min(Math.max(value, 0), most);
    return (x1, y1, x2, y2) => {
      const [left, top] = [edge(Math.floor(x1 / CELL), wide), edge(Math.floor(y1 / CELL), high)];
      const [right, foot] = [edge(Math.ceil(x2 / CELL), wide), edge(Math.ceil(y2 / CELL), high)];
      const at = (row, column) => sums[row * (wide + 1) + column];
      return at(foot, right) - at(top, right) - at(foot, left) + at(top, left);
    };
  }

  // --- where a name can stand

  /** The colour of most of a name's marks, lines before points and these before bars and ticks. */
  function colourOf(panels, name) {
    const counts = {};
    for (const mark of panels.flatMap((panel) => panel.marks))
      if (mark.name === name && mark.colour) counts[mark.colour] = (counts[mark.colour] || 0) + mark.weight;
    return Object.keys(counts).sort((a, b) => counts[b] - counts[a])[0];
  }

  /** The best free place for a name beside one of its marks: far from others', early among the panels. */
  function spot(panels, name) {
    const wide = name.length * LETTER, colour = colourOf(panels, name);
    const lines = panels.some((panel) => panel.marks.some((mark) => mark.line && mark.name === name));
    let best = null;
    panels.forEach((panel, k) => {
      const own = panel.marks.filter((mark) => mark.name === name && mark.points.length && (lines ? mark.line : mark.colour === colour));
      if (!own.length || wide > panel.width - 4) return;
      const any = summed(panel, () => true), others = summed(panel, (mark) => mark.name !== name);
      const points = own.flatMap((mark) => mark.points), step = Math.max(1, Math.floor(points.length / 400));
      for (let n = 0; n < points.length; n += step) {
        const [x, y] = points[n];
        for (const [left, top, apart] of [
          [x - wide / 2, y - HIGH - 4, APART], [x + 3, y - HIGH - 3, APART], [x - wide - 3, y - HIGH - 3, APART],
          [x - wide / 2, y + 4, APART], [x + 3, y + 4, APART], [x - wide - 3, y + 4, APART],
          [x + 6, y - HIGH / 2, 0], [x - wide - 6, y - HIGH / 2, 0], // on a mark's own height others may be above and below
        ]) {
          const right = left + wide, foot = top + HIGH;
          if (left < 2 || top < 2 || right > panel.width - 2 || foot > panel.height - 2 || any(left, top, right, foot)) continue;
          let clear = apart;
          if (others(left - APART, top - apart, right + APART, foot + apart)) continue;
          while (clear < 40 && !others(left - clear - 5, top - clear - 5, right + clear + 5, foot + clear + 5)) clear += 5;
          const score = clear + (apart ? 0 : 12) - 3 * k - Math.abs(left + wide / 2 - 0.7 * panel.width) / panel.width;
          if (!best || score > best.score) best = { score, panel, left, top, right, foot, colour };
        }
      }
    });
    return best;
  }

  /** Write each name beside one of its marks. Returns "", or why it cannot be done. */
  function place(node, field) {
    const panels = panelsOf(node.view, field);
    const names = [...new Set(panels.flatMap((panel) => panel.marks.map((mark) => mark.name)))].filter(Boolean);
    if (!names.length) return "the names are not those of marks";
    const found = [];
    for (const name of names) {
      const chosen = spot(panels, name);
      if (!chosen) return `no room beside the marks for: ${name}`;
      chosen.panel.marks.push({ name: `\u0000${name}`, points: [], boxes: [[chosen.left, chosen.top, chosen.right, chosen.foot]], weight: 0 });
      found.push([name, chosen]);
    }
    for (const [name, chosen] of found) write(node, name, chosen);
    return "";
  }

  function write(node, name, { panel, left, top, right, colour }) {
    const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    const marks = { x: panel.x + (left + right) / 2, y: panel.y + top + 11, fill: readable(node, colour), stroke: "var(--paper)" };
    for (const [key, value] of Object.entries(marks)) text.setAttribute(key, value);
    for (const [key, value] of Object.entries({ "text-anchor": "middle", "font-size": "12px", "font-weight": 600, "font-family": "system-ui, sans-serif", "stroke-width": 3, "paint-order": "stroke", class: "direct" })) text.setAttribute(key, value);
    text.textContent = name;
    node.querySelector("svg > g").append(text);
  }

  /** A mark's colour with enough of the page's ink in it to be read as letters. */
  function readable(node, colour) {
    const pencil = document.createElement("canvas").getContext("2d");
    const parts = (paint) => {
      pencil.fillStyle = "#000";
      pencil.fillStyle = paint;
      return [1, 3, 5].map((at) => parseInt(pencil.fillStyle.slice(at, at + 2), 16));
    };
    if (!/^#/.test(colour || "")) return "currentColor";
    const ink = node.classList.contains("light") ? "#1f2328" : getComputedStyle(node).color;
    const [paint, shade] = [parts(colour), parts(ink)];
    return `#${paint.map((value, k) => Math.round(0.68 * value + 0.32 * shade[k]).toString(16).padStart(2, "0")).join("")}`;
  }

  return { wanted, withoutLegend, place };
})();
