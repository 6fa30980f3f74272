// Interaction of a page's figures with pointer and keyboard: names of curves become buttons that hide and show the
// curves, and the values at the pointer's position on the x axis appear next to the pointer. Without this script the
// page holds the same numbers. This module is valid in XML without escaping: it has no less-than sign and no ampersand.

// A row of a panel's table has, in data-x, its place on the x axis as a share of the picture's width.
const distance = (row, x) => Math.abs(row.dataset.x - x);
const nearest = (rows, x) => rows.reduce((best, row) => distance(best, x) > distance(row, x) ? row : best);

// Turns a curve's name, an item of the legend, into a button, which is pressed while the curve is shown.
function addButton(item, figure) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-pressed", "true");
  button.append(...item.childNodes);
  item.append(button);
  button.addEventListener("click", () => {
    const hide = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!hide));
    for (const element of figure.querySelectorAll(`[data-line="${item.dataset.toggle}"]`)) {
      element.style.display = hide ? "none" : "";
    }
  });
}

// Shows, while the pointer is on a panel, a vertical line (rule) at the nearest row of the panel's table, and a box
// (readout) with the nearest value of each visible curve. names: the legend's items.
function addReadout(panel, names) {
  const picture = panel.querySelector(".plot > svg"), rule = document.createElement("div");
  const rows = [...panel.querySelectorAll("tbody tr")];
  const box = document.createElement("div");
  box.className = "readout";
  box.setAttribute("aria-hidden", "true");
  rule.className = "rule";
  picture.after(rule, box);
  const show = event => {
    const bounds = picture.getBoundingClientRect();
    const x = (event.clientX - bounds.left) / bounds.width;
    const row = nearest(rows, x);
    const lines = names.filter(name => name.firstChild.getAttribute("aria-pressed") === "true").map(name => {
      const cell = `[data-line="${name.dataset.toggle}"]`;
      const rowsWithValue = rows.filter(candidate => candidate.querySelector(cell)?.textContent);
      const line = document.createElement("div");
      if (rowsWithValue.length) {
        const value = nearest(rowsWithValue, x).querySelector(cell).textContent;
        line.append(name.querySelector("svg").cloneNode(true), ` ${name.textContent.trim()} ${value}`);
      }
      return line;
    });
    box.replaceChildren(`${panel.dataset.axis} ${row.cells[0].textContent}`, ...lines);
    box.classList.toggle("left", x > 0.5);
    rule.style.left = `${100 * row.dataset.x}%`;
    panel.classList.add("read");
  };
  picture.addEventListener("pointermove", show);
  picture.addEventListener("pointerdown", show);
  panel.addEventListener("pointerleave", () => panel.classList.remove("read"));
}

for (const figure of document.querySelectorAll("figure.curves")) {
  const names = [...figure.querySelectorAll("[data-toggle]")];
  names.forEach(name => addButton(name, figure));
  figure.querySelectorAll(".panel:has(.plot)").forEach(panel => addReadout(panel, names));
}

// Opens the folded list of runs to which a number's link leads.
const unfold = hash => {
  const target = document.getElementById(hash.slice(1));
  if (target?.matches("details")) target.open = true;
};
addEventListener("click", event => unfold(event.target.closest("a")?.hash ?? ""));
addEventListener("hashchange", () => unfold(location.hash));
unfold(location.hash);
