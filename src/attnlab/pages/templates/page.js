"use strict";
// What every page can do beside its charts: follow a seed, sort tables, save, copy, open tabs, explain words.
window.attnlab = (() => {
  const WORDS = {}; // the glossary, filled in when the page is written
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  const { unpack, draw, drawAll, picture } = attnlabCharts;

  // --- a seed through all charts

  function follow(event) {
    const path = event.target.closest && event.target.closest(".chart path[data-seed]");
    document.body.classList.toggle("linked", Boolean(path));
    for (const lit of all("path.lit")) lit.classList.remove("lit");
    if (!path) return;
    const { seed, setting } = path.dataset;
    for (const one of all(".chart path[data-seed]"))
      if (one.dataset.seed === seed && (!setting || !one.dataset.setting || one.dataset.setting === setting)) one.classList.add("lit");
  }

  // --- tables

  function stack(table) {
    const room = table.parentElement.clientWidth;
    if (!room) return;
    table.classList.remove("stacked");
    if (table.scrollWidth <= room + 1) return;
    const names = all("thead th", table).map((cell) => cell.textContent);
    for (const row of table.tBodies[0].rows)
      [...row.cells].forEach((cell, k) => {
        cell.dataset.label = names[k];
        if (cell.childNodes.length < 2) return;
        const whole = document.createElement("span"); // words and terms in one place beside the heading
        whole.append(...cell.childNodes);
        cell.append(whole);
      });
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
    const escaped = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`(?<![\\w-])(${escaped.join("|")})(?![\\w])`, "g");
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
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
    refresh();
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
  return { unpack, refresh, draw };
})();
