"use strict";
// What every page can do: unpack data, draw charts to the width there is, sort tables, copy, open tabs, explain words.
window.attnlab = (() => {
  const WORDS = {}; // the glossary, filled in when the page is written
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // --- data inside the page

  async function unpack(id) {
    const letters = atob(document.getElementById(id).textContent.trim());
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  async function description(holder) {
    if (holder.type === "application/json") return JSON.parse(holder.textContent);
    return JSON.parse(new TextDecoder().decode(await unpack(holder.id)));
  }

  // --- charts

  const PANEL = 230, LETTER = 6.6;

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
    return `${JSON.stringify(table)}[datum.label] || datum.label`;
  }

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
    const inner = spec.layer || spec.concat || (spec.spec ? [spec.spec] : null);
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

  /** Pixels that the labels of a chart's rows take at its left. */
  function leftOf(spec, root, panel) {
    const most = Math.max(0.3 * panel, 70);
    const wide = views(spec, root).flatMap(([view, rows]) => {
      const y = (view.encoding || {}).y;
      return y && y.field && ["nominal", "ordinal"].includes(y.type) ? distinct(rows, y.field).map((name) => String(name).length * LETTER) : [40];
    });
    return Math.min(Math.max(...wide, 40), most) + 10;
  }

  function wrapLabels(spec, root, width, panel) {
    const room = width - leftOf(spec, root, panel);
    for (const [view, rows] of views(spec, root)) {
      const encoding = view.encoding || {};
      for (const channel of ["color", "shape", "strokeDash", "fill", "opacity"]) {
        const one = encoding[channel];
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
      const y = encoding.y;
      if (y && y.field && ["nominal", "ordinal"].includes(y.type) && y.axis !== null && !(y.axis && y.axis.labelExpr)) {
        y.axis = { ...y.axis, labelLimit: 0 };
        const names = distinct(rows, y.field), most = Math.max(0.3 * panel, 70);
        const split = wrapped(names, most);
        if (!split) continue;
        y.axis.labelExpr = split;
        const tallest = Math.max(...names.map((name) => lines(name, most).length));
        if (typeof root.height === "number") root.height = Math.max(root.height, names.length * (14 * tallest + 6));
      }
    }
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
        const split = wrapped(names, width / columns - 50);
        spec.facet.header = { ...spec.facet.header, labelLimit: 0, ...(split ? { labelExpr: split } : {}) };
      } else columns = distinct(rows, (spec.facet.column || {}).field).length || 1;
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
    wrapLabels(spec, spec, width, panel);
    return [sized, columns];
  }

  async function embed(node, spec) {
    const shown = await vegaEmbed(node, spec, { actions: false, renderer: "svg", ast: true, tooltip: { theme: "custom" } });
    node.view = shown.view;
    const svg = node.querySelector("svg");
    return [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
  }

  /** One drawing of a chart after the other, each to the width that there is by then. */
  function draw(node) {
    node.drawing = (node.drawing || Promise.resolve()).then(() => drawNow(node));
    return node.drawing;
  }

  async function drawNow(node) {
    const width = node.clientWidth;
    if (!width || node.drawnAt === width) return;
    try {
      const holder = document.querySelector(`script[data-chart="${node.id}"]`);
      const original = await description(holder);
      const fresh = () => JSON.parse(JSON.stringify(original));
      const most = Number(node.dataset.most) || Infinity;
      const single = !(original.facet || original.hconcat || original.vconcat || original.concat);
      let spec = fresh(), [sized, columns] = arrange(spec, width), panel = width, scale = 1, total, high;
      if (single) {
        // Room that axes and legends take is found by drawing once.
        panel = width - 70;
      } else panel = width / columns - 60;
      for (let attempt = 0; attempt < 4; attempt++) {
        for (const one of sized) {
          one.width = Math.max(40, panel);
          if (typeof one.height === "number") one.height = Math.max(60, one.height * scale);
        }
        [total, high] = await embed(node, spec);
        const fits = Math.abs(total - width) <= 2, low = high <= most;
        if ((fits && low) || (panel <= 40 && total > width)) break;
        if (!fits) panel = Math.max(40, panel + (width - total - 1) / columns);
        if (!low) scale *= Math.max(0.4, (most - 60) / (high - 60));
        spec = fresh();
        [sized, columns] = arrange(spec, width);
      }
      if (total > width) {
        // Labels that cannot be broken: the picture as a whole becomes a little smaller.
        Object.assign(node.querySelector("svg").style, { width: "100%", height: "auto" });
      }
      node.drawnAt = width;
      mark(node);
    } catch (error) {
      node.className = "chart-failed";
      node.textContent = `This chart cannot be drawn: ${error.message || error}`;
    }
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

  function follow(event) {
    const path = event.target.closest && event.target.closest(".chart path[data-seed]");
    document.body.classList.toggle("linked", Boolean(path));
    for (const lit of all("path.lit")) lit.classList.remove("lit");
    if (!path) return;
    const { seed, setting } = path.dataset;
    for (const one of all(".chart path[data-seed]"))
      if (one.dataset.seed === seed && (!setting || !one.dataset.setting || one.dataset.setting === setting)) one.classList.add("lit");
  }

  /** Charts that are seen first are drawn first, the others while nothing else is to be done. */
  async function drawAll() {
    for (const node of all(".chart[id]").filter((one) => one.clientWidth)) {
      await draw(node);
      await new Promise((go) => setTimeout(go));
    }
    document.documentElement.dataset.drawn = "yes";
  }

  // --- tables

  function stack(table) {
    const room = table.parentElement.clientWidth;
    if (!room) return;
    table.classList.remove("stacked");
    if (table.scrollWidth <= room + 1) return;
    const names = all("thead th", table).map((cell) => cell.textContent);
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, k) => (cell.dataset.label = names[k]));
    table.classList.add("stacked");
  }

  const number = (text) => (/^[-+]?[\d.]/.test(text.trim()) ? parseFloat(text.replace(/[,\s]/g, "")) : NaN);

  function sortable(table) {
    if (table.tBodies[0].rows.length < 3) return;
    all("thead th", table).forEach((cell, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener("click", () => {
        const down = cell.getAttribute("aria-sort") === "ascending";
        for (const other of all("thead th", table)) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map((row) => [row, row.cells[k].textContent]);
        const numbers = rows.every(([, text]) => text.trim() === "" || !Number.isNaN(number(text)));
        rows.sort(([, a], [, b]) => (numbers ? (number(a) || 0) - (number(b) || 0) : a.localeCompare(b)) * (down ? -1 : 1));
        table.tBodies[0].append(...rows.map(([row]) => row));
      });
    });
  }

  // --- files to keep, commands to copy

  function keep(name, text, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function csv(table) {
    const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return [...table.rows].map((row) => [...row.cells].map((one) => cell(one.textContent.trim())).join(",")).join("\n") + "\n";
  }

  async function picture(node) {
    const ink = getComputedStyle(document.body).color, drawn = await node.view.toSVG();
    return drawn.replaceAll("currentColor", ink).replaceAll("var(--line)", "#999999");
  }

  function copy(button) {
    const text = document.getElementById(button.dataset.copy).textContent;
    const done = () => {
      const before = button.textContent;
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = before), 1500);
    };
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy"); // works for pages opened from disk, where the clipboard's own call may not
    area.remove();
    button.focus();
    done();
  }

  function onClick(event) {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.copy) copy(button);
    if (button.dataset.csv) keep(`${button.dataset.name}.csv`, csv(document.getElementById(button.dataset.csv)), "text/csv");
    if (button.dataset.svg) picture(document.getElementById(button.dataset.svg)).then((text) => keep(`${button.dataset.name}.svg`, text, "image/svg+xml"));
    if (button.getAttribute("role") === "tab") choose(button);
  }

  // --- tabs

  function choose(tab) {
    for (const other of all("[role=tab]", tab.parentElement)) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", chosen);
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
    }
    tab.focus();
    refresh();
  }

  function onKey(event) {
    if (event.key === "Escape") explain(null);
    const tab = event.target.closest && event.target.closest("[role=tab]");
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!tab || !step) return;
    const tabs = all("[role=tab]", tab.parentElement);
    choose(tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]);
  }

  // --- words that are explained

  function findWords() {
    const meanings = WORDS;
    const names = Object.keys(meanings).sort((a, b) => b.length - a.length);
    const pattern = new RegExp(`(?<![\\w-])(${names.join("|")})(?![\\w])`, "g");
    for (const block of all("main p, main figcaption, main td, main th, main li, main summary")) {
      if (block.closest(".glossary")) continue;
      const seen = new Set(), walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT), texts = [];
      while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("code, abbr, button, a, script")) texts.push(walker.currentNode);
      for (const text of texts) {
        const parts = text.data.split(pattern);
        if (parts.length < 2) continue;
        text.replaceWith(...parts.map((part, k) => {
          if (k % 2 === 0) return part;
          const word = document.createElement("abbr");
          word.textContent = part;
          word.dataset.means = meanings[part];
          if (!seen.has(part) && ["P", "LI"].includes(block.tagName)) word.tabIndex = 0;
          seen.add(part);
          return word;
        }));
      }
    }
  }

  function explain(word) {
    let box = document.getElementById("means");
    if (!box) {
      box = document.createElement("div");
      box.id = "means";
      box.setAttribute("role", "tooltip");
      document.body.append(box);
    }
    box.hidden = !word;
    if (!word) return;
    box.textContent = word.dataset.means;
    const place = word.getBoundingClientRect();
    box.style.left = `${Math.max(8, Math.min(place.left, document.documentElement.clientWidth - box.offsetWidth - 8)) + scrollX}px`;
    box.style.top = `${place.bottom + 6 + scrollY}px`;
    word.setAttribute("aria-describedby", "means");
  }

  // --- beginning, and again when there is more or less room

  function refresh() {
    all(".table > table").forEach(stack);
    return drawAll();
  }

  function begin() {
    all(".table > table").forEach(sortable);
    findWords();
    for (const kind of ["mouseover", "focusin"])
      document.addEventListener(kind, (event) => explain(event.target.closest && event.target.closest("abbr[data-means]")));
    document.addEventListener("mouseover", follow);
    document.addEventListener("click", onClick);
    document.addEventListener("keydown", onKey);
    for (const folded of all("details")) folded.addEventListener("toggle", refresh);
    let timer = 0;
    addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(refresh, 150); });
    addEventListener("beforeprint", refresh);
    refresh();
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
  return { unpack, refresh, draw };
})();
