"use strict";
// Tables sort by a click on a heading: numbers as numbers, what is empty last, and back again.
for (const heading of document.querySelectorAll("table.sortable th")) {
  heading.addEventListener("click", () => {
    const table = heading.closest("table");
    const column = [...heading.parentNode.children].indexOf(heading);
    const ascending = heading.getAttribute("aria-sort") !== "ascending";
    const rows = [...table.tBodies[0].rows];
    const keys = new Map(rows.map((row) => [row, row.cells[column].dataset.key ?? ""]));
    const compare = (a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const [n, m] = [Number(x), Number(y)];
      const order = Number.isNaN(n) || Number.isNaN(m) ? x.localeCompare(y) : n - m;
      return ascending ? order : -order;
    };
    rows.sort(compare);
    table.tBodies[0].append(...rows);
    for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  });
}

// Figures open large; a click shows them in their full size.
const dialog = document.getElementById("large");
const large = dialog.querySelector("img");
for (const button of document.querySelectorAll("button.enlarge")) {
  button.addEventListener("click", () => {
    const small = button.querySelector("img");
    large.src = small.src;
    large.alt = small.alt;
    // where the window is too narrow to show it any larger, at once in its full size
    dialog.classList.toggle("whole", small.clientWidth > 0.8 * window.innerWidth && small.naturalWidth > window.innerWidth);
    dialog.showModal();
  });
}
large.addEventListener("click", () => dialog.classList.toggle("whole"));
dialog.addEventListener("click", (event) => {
  if (event.target !== large) dialog.close();
});
dialog.addEventListener("close", () => large.removeAttribute("src"));
