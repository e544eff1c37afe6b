"use strict";
(() => {
  const tip = document.getElementById("tip");
  const theme = document.getElementById("theme");
  const themes = ["system", "dark", "light"];
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const next = themes[(themes.indexOf(root.dataset.theme || "system") + 1) % themes.length];
    if (next === "system") delete root.dataset.theme; else root.dataset.theme = next;
    theme.textContent = `Colours: ${next}`;
  });

  // A button of a legend hides its series in all charts beside it.
  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const drawn of button.closest(".group").querySelectorAll(`svg [data-s="${button.dataset.s}"]`)) {
        drawn.classList.toggle("off", !shown);
      }
    });
  }

  const write = (head, lines, left, top) => {
    tip.replaceChildren();
    const add = (name, value) => {
      const line = tip.appendChild(document.createElement("p"));
      if (name) line.append(`${name}: `);
      line.appendChild(document.createElement("b")).textContent = value;
    };
    if (head) tip.appendChild(document.createElement("p")).textContent = head;
    for (const [name, value] of lines.slice(0, 14)) add(name, value);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(left + 14, innerWidth - box.width - 4))}px`;
    tip.style.top = `${Math.max(4, top - box.height - 14 < 4 ? top + 18 : top - box.height - 14)}px`;
  };
  const nearest = (places, x) => {
    let low = 0, high = places.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (places[middle] <= x) low = middle; else high = middle;
    }
    return high < 0 ? -1 : Math.abs(places[low] - x) <= Math.abs(places[high] - x) ? low : high;
  };

  for (const figure of document.querySelectorAll(".chart")) {
    const svg = figure.querySelector("svg[role=img]");
    const json = figure.querySelector("script");
    if (!svg || !json) continue;
    let points = null;
    const read = () => (points ??= JSON.parse(json.textContent));
    const cross = svg.querySelector(".cross");
    const scale = () => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    let column = 0, row = 0;

    const showMap = () => {
      const [x, y, width, height] = points.box, cells = points.cells;
      row = Math.max(0, Math.min(row, cells.length - 1));
      column = Math.max(0, Math.min(column, cells[0].length - 1));
      const box = svg.getBoundingClientRect(), k = scale();
      write(`${points.rows[row]}, ${points.columns[column]}`, [["", cells[row][column]]], box.left + (x + (column + 0.5) * width / cells[0].length) * k,
            box.top + (y + (row + 0.5) * height / cells.length) * k);
    };
    const showLines = (x) => {
      const shown = points.filter((line) => line.x.length && !(line.s >= 0 && svg.querySelector(`[data-s="${line.s}"]`)?.classList.contains("off")));
      if (!shown.length) return;
      const found = shown.map((line) => [line, nearest(line.x, x)]);
      const [first, at] = found.reduce((a, b) => (Math.abs(b[0].x[b[1]] - x) < Math.abs(a[0].x[a[1]] - x) ? b : a));
      const place = first.x[at];
      cross.setAttribute("x1", place);
      cross.setAttribute("x2", place);
      // A line that has ended, or not begun, has nothing to say here.
      const near = found.filter(([line, i]) => Math.abs(line.x[i] - place) < 12);
      const box = svg.getBoundingClientRect(), k = scale();
      write(first.at[at], near.map(([line, i]) => [line.n, line.is[i]]), box.left + place * k,
            box.top + Math.min(...near.map(([line, i]) => line.y[i])) * k);
      column = place;
    };
    const leave = () => {
      tip.hidden = true;
      cross.setAttribute("x1", -9);
      cross.setAttribute("x2", -9);
    };
    svg.addEventListener("pointermove", (event) => {
      read();
      const box = svg.getBoundingClientRect(), k = scale();
      const x = (event.clientX - box.left) / k, y = (event.clientY - box.top) / k;
      if (!points.cells) return showLines(x);
      const [left, top, width, height] = points.box;
      if (x < left || y < top || x >= left + width || y >= top + height) return leave();
      column = Math.floor((x - left) / width * points.cells[0].length);
      row = Math.floor((y - top) / height * points.cells.length);
      showMap();
    });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.key === "Escape") return leave();
      read();
      if (!step || (!points.cells && step[1])) return;
      event.preventDefault();
      if (points.cells) {
        column += step[0];
        row += step[1];
        return showMap();
      }
      const places = [...new Set(points.flatMap((line) => line.x))].sort((a, b) => a - b);
      const next = step[0] > 0 ? places.find((x) => x > column) : places.findLast((x) => x < column);
      showLines(next ?? (step[0] > 0 ? places.at(-1) : places[0]));
    });
  }

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        // Pages from a disk may not use the clipboard: the text is selected, for the keyboard.
        getSelection().selectAllChildren(button.parentElement.querySelector("code"));
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
})();
