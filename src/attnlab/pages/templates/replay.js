// One slider for all films of a replay. Values are bytes: how dark a cell is drawn.
(() => {
  const shade = (byte, signed) => signed ? Math.min(Math.abs(byte - 128) / 127, 1) : byte / 255;
  const value = (byte, signed) => signed ? (byte - 128) / 127 : (byte / 255) ** 2;
  const rgb = (element, name) => {
    const colour = getComputedStyle(element).getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  };

  async function start(root) {
    const id = root.dataset.replay;
    const about = JSON.parse(root.querySelector("script[data-about]").textContent);
    const values = new Uint8Array(await attnlab.unpack(id));
    const steps = [...new Set(about.films.flatMap((film) => film.steps))].sort((a, b) => a - b);
    const slider = root.querySelector(".replay-slider"), button = root.querySelector(".replay-play");
    const counter = root.querySelector(".replay-step");
    let at = 0, timer = 0, colours;

    let place = 0;
    const take = (count) => values.subarray(place, (place += count));
    const films = about.films.map((film, k) => {
      const inputs = film.lengths.reduce((sum, length) => sum + length, 0);
      const cells = film.kind === "matrix" ? inputs * film.outputs.length : inputs;
      const fields = film.fields.map((field) => ({
        ...field, cells,
        values: take(cells * film.steps.length),
        tops: film.kind === "matrix" ? take(film.outputs.length * film.steps.length) : null,
      }));
      const element = root.querySelector(`[data-film="${k}"]`);
      return film.kind === "matrix" ? matrix(film, fields, element) : texts(film, fields, element);
    });

    function concept(field, above) {
      if (field.signed) return above ? colours.above : colours.below;
      return field.name === "attention" ? colours.attention : colours.probe;
    }

    function frame(film) {  // the last evaluation that is not after the slider's step
      let found = 0;
      film.steps.forEach((step, k) => { if (step <= steps[at]) found = k; });
      return found;
    }

    function numbers(film, element) {
      const line = element.querySelector("[data-numbers]");
      const names = Object.keys(film.numbers);
      return () => {
        if (!line) return;
        const k = frame(film), last = film.steps[film.steps.length - 1];
        const said = names.map((name) => `${name} ${Math.round(100 * film.numbers[name][k])} %`).join(", ");
        line.textContent = said + (steps[at] > last ? ` (ended after ${last} updates)` : "");
      };
    }

    function matrix(film, fields, element) {
      const width = film.words[0].length, height = film.outputs.length, tell = numbers(film, element);
      const size = Math.max(4, Math.round(480 / Math.max(width, height)));  // pixels of a cell, for the dots
      const boxes = [...element.querySelectorAll("[data-field]")];
      const note = element.querySelector("[data-cell]");
      const canvases = boxes.map((box) => {
        const canvas = box.querySelector("canvas");
        canvas.width = width * size;
        canvas.height = height * size;
        return canvas;
      });
      canvases.forEach((canvas, f) => canvas.addEventListener("pointermove", (event) => {
        const box = canvas.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left) / box.width * width);
        const row = Math.floor((event.clientY - box.top) / box.height * height);
        if (column < 0 || row < 0 || column >= width || row >= height) return;
        const byte = fields[f].values[frame(film) * fields[f].cells + row * width + column];
        note.textContent = `${fields[f].name}: output ${row + 1} “${film.outputs[row]}”, input ${column + 1} ` +
          `“${film.words[0][column]}”: ${value(byte, fields[f].signed).toFixed(2)}`;
      }));
      return () => {
        const k = frame(film);
        tell();
        fields.forEach((field, f) => {
          const context = canvases[f].getContext("2d"), [red, green, blue] = concept(field, true);
          context.clearRect(0, 0, width * size, height * size);
          const from = k * field.cells;
          for (let cell = 0; cell < field.cells; cell++) {
            const byte = field.values[from + cell];
            if (!byte) continue;
            context.fillStyle = `rgba(${red},${green},${blue},${shade(byte, field.signed)})`;
            context.fillRect((cell % width) * size, Math.floor(cell / width) * size, size, size);
          }
          context.fillStyle = colours.ink;
          const dot = Math.max(2, size * 0.3);
          let straight = 0;
          for (let row = 0; row < height; row++) {
            const top = field.tops[k * height + row];
            straight += film.words[0][top] === film.outputs[row];
            context.beginPath();
            context.arc((top + 0.5) * size, (row + 0.5) * size, dot / 2, 0, 7);
            context.fill();
          }
          canvases[f].setAttribute("aria-label", `${field.name} after ${film.steps[k]} updates: largest at the same word ` +
            `in ${straight} of ${height} output words`);
        });
      };
    }

    function texts(film, fields, element) {
      const tell = numbers(film, element), starts = [0];
      for (const length of film.lengths) starts.push(starts[starts.length - 1] + length);
      // The words of a text are in the page once, in the line of its first field.
      const lines = [...element.querySelectorAll("[data-text]")];
      const words = new Map(lines.filter((line) => line.dataset.field === "0").map((line) =>
        [line.dataset.text, line.querySelector(".replay-words").textContent.split("\n")]));
      const visible = new Set();
      const paint = (line) => {
        const k = frame(film), field = fields[line.dataset.field], from = k * field.cells + starts[line.dataset.text];
        line.words.forEach((span, n) => {
          const byte = field.values[from + n], strength = Math.round(shade(byte, field.signed) * 192) / 255;
          if (span.drawn === byte) return;
          span.drawn = byte;
          const [red, green, blue] = concept(field, byte > 128);
          span.style.backgroundColor = strength ? `rgba(${red},${green},${blue},${strength})` : "";
          span.title = value(byte, field.signed).toFixed(2);
        });
      };
      // Only lines that can be seen are cut into words and shaded.
      const watch = new IntersectionObserver((entries) => {
        for (const { target, isIntersecting } of entries) {
          if (!isIntersecting) { visible.delete(target); continue; }
          if (!target.words) {
            const holder = target.querySelector(".replay-words");
            target.words = words.get(target.dataset.text).map((word) => {
              const span = document.createElement("span");
              span.textContent = word;
              return span;
            });
            holder.replaceChildren(...target.words.flatMap((span) => [span, " "]));
          }
          visible.add(target);
          paint(target);
        }
      }, { rootMargin: "100px" });
      lines.forEach((line) => watch.observe(line));
      return (fresh) => {
        tell();
        for (const line of visible) {
          if (fresh) line.words.forEach((span) => { span.drawn = -1; });
          paint(line);
        }
      };
    }

    function show(fresh) {
      slider.value = at;
      slider.setAttribute("aria-valuetext", `after ${steps[at]} updates`);
      counter.textContent = steps[at];
      for (const draw of films) draw(fresh);
    }

    function stop() {
      clearInterval(timer);
      timer = 0;
      button.textContent = "Play";
      button.setAttribute("aria-pressed", "false");
    }

    function theme() {
      const names = { attention: "--attention", probe: "--probe", above: "--above", below: "--below" };
      colours = Object.fromEntries(Object.entries(names).map(([name, variable]) => [name, rgb(root, variable)]));
      colours.ink = getComputedStyle(root).color;
      show(true);
    }

    slider.addEventListener("input", () => { stop(); at = Number(slider.value); show(); });
    button.addEventListener("click", () => {
      if (timer) { stop(); return; }
      if (at === steps.length - 1) { at = 0; show(); }
      button.textContent = "Pause";
      button.setAttribute("aria-pressed", "true");
      timer = setInterval(() => {
        at += 1;
        show();
        if (at === steps.length - 1) stop();
      }, 450);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
    at = steps.length - 1;  // what came of it, until somebody asks how
    theme();
    root.dataset.ready = "yes";
  }

  for (const root of document.querySelectorAll("[data-replay]")) start(root);
})();
