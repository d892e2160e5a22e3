// SPDX-License-Identifier: Apache-2.0
// Tables of the page that sort by a click on a heading, and show the rows that have what is searched.
"use strict";
(() => {
const UNITS = { bytes: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1 };
const NUMBER = /^(-?[\d.]+)(?: (\S+))?$/, OF_BUFFER = /^buffer:(\d+)$/;
const BUFFER = "buffer";

// What a cell sorts by: a number with its unit, else text. Cells without a number come last.
function keyOf(cell) {
  const words = cell.textContent.trim(), found = NUMBER.exec(words);
  return found ? found[1] * (UNITS[found[2]] ?? 1) : words;
}
function compare(one, other) {
  const numbers = [typeof one === "number", typeof other === "number"];
  if (numbers[0] && numbers[1]) return one - other;
  if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
  return one.localeCompare(other, undefined, { numeric: true });
}

class Table {
  constructor(table) {
    this.table = table; this.body = table.tBodies[0]; this.rows = [...this.body.rows];
    this.heads = [...table.tHead.rows[0].cells]; this.names = this.heads.map(head => head.textContent);
    this.heads.forEach((head, column) => this.addSorting(head, column));
    for (const row of this.rows)
      for (const cell of row.cells) cell.dataset.head = this.names[cell.cellIndex];
    this.addSearch();
  }
  addSorting(head, column) {
    const button = document.createElement("button");
    button.type = "button"; button.className = "sort"; button.textContent = head.textContent;
    button.title = "sort by this column";
    head.replaceChildren(button);
    button.addEventListener("click", () => this.sort(column, head.getAttribute("aria-sort") !== "ascending"));
  }
  sort(column, upwards) {
    for (const head of this.heads) head.removeAttribute("aria-sort");
    this.heads[column].setAttribute("aria-sort", upwards ? "ascending" : "descending");
    const keys = new Map(this.rows.map(row => [row, keyOf(row.cells[column])]));
    this.rows.sort((one, other) => (upwards ? 1 : -1) * compare(keys.get(one), keys.get(other)));
    this.body.append(...this.rows);
  }
  addSearch() {
    const label = document.createElement("label"), count = document.createElement("output");
    this.field = document.createElement("input"); this.count = count;
    this.field.type = "search"; label.className = "search screen";
    label.append("search ", this.field, count);
    this.table.parentElement.before(label);
    this.field.addEventListener("input", () => this.search(this.field.value));
  }
  search(wanted) { // words, or buffer:7 for the rows of that buffer alone
    this.field.value = wanted;
    const words = wanted.toLowerCase().trim(), buffer = OF_BUFFER.exec(words), column = this.names.indexOf(BUFFER);
    let shown = 0;
    for (const row of this.rows) {
      const fits = buffer && column >= 0 ? row.cells[column].textContent === buffer[1] : row.textContent.toLowerCase().includes(words);
      row.hidden = !fits;
      shown += fits;
    }
    this.count.textContent = words ? ` ${shown} of ${this.rows.length} rows` : "";
  }
}
report.tables = new Map();
for (const table of document.querySelectorAll(".rows > table"))
  if (table.id !== "use-table") report.tables.set(table.id, new Table(table));
})();
