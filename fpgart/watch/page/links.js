// SPDX-License-Identifier: Apache-2.0
// Links within the page, which can be sent: from a copy to the call that caused it, from a buffer to its life and its
// copies, and back; and to a range of a timeline. They are the fragment of the address.
"use strict";
(() => {
const { charts, views, data, tables } = report;
const chartOf = id => charts.find(chart => chart.canvas.id === id);
const link = (target, words) => {
  const made = document.createElement("a");
  made.href = `#${target}`; made.textContent = words;
  return made;
};
const rowsOf = command => [...document.querySelectorAll(`#copies-table tr[data-command="${command}"]`)];

// Where something that was chosen leads to.
report.linksOf = found => {
  const made = [];
  if (found.command) {
    made.push(link(`command-${found.command}`, "its call, and what that enqueued"));
    const rows = rowsOf(found.command);
    if (rows.length) made.push(link(rows[0].id, `its ${rows.length === 1 ? "copy" : `${rows.length} copies`}`));
  }
  if (found.buffer && document.getElementById(`buffer-${found.buffer}`)) {
    made.push(link(`buffer-${found.buffer}`, `buffer ${found.buffer}`));
    made.push(link(`copies-of-${found.buffer}`, "its copies"));
    if (data.memory?.buffer.includes(found.buffer)) made.push(link(`life-${found.buffer}`, "its life"));
  }
  return made.flatMap(each => ["\n", each]);
};
report.rangeChosen = view => {
  const { name, range } = view, page = location.pathname + location.search;
  history.replaceState(null, "", range ? `#range-${name}-${Math.round(range.begin)}-${Math.round(range.end)}` : page);
};

function show(chart, found, spans) { // choose, and bring all spans into view
  const begin = Math.min(...spans.map(span => span.begin)), end = Math.max(...spans.map(span => span.end));
  const margin = Math.max((end - begin) * 0.2, 1);
  chart.canvas.scrollIntoView({ block: "center" });
  chart.canvas.focus({ preventScroll: true });
  chart.view.show(begin - margin, end + margin);
  chart.tell(found);
}
const GO = {
  command(number) {
    const chart = chartOf("real"), spans = chart.spansOf(+number);
    if (spans.length) show(chart, spans[0], spans);
  },
  life(number) {
    const chart = chartOf("memory-figure");
    const boxes = (chart?.lanes ?? []).flatMap(lane =>
      (lane.boxes ?? []).map((i, place) => [i, lane, place]).filter(([i]) => data.memory.buffer[i] === +number));
    const spans = boxes.map(([i, lane, place]) => lane.described(i, place));
    if (spans.length) { chart.draw(); show(chart, spans[0], spans); }
    else GO.buffer(number);
  },
  "copies-of"(number) {
    tables.get("copies-table")?.search(`buffer:${number}`);
    document.getElementById("copies").scrollIntoView();
  },
  buffer(number) { row(`buffer-${number}`, "buffers-table"); },
  copy(number) { row(`copy-${number}`, "copies-table"); },
  range(words) {
    const [name, begin, end] = words.split("-"), view = views[name];
    if (!view || !(+begin <= +end)) return;
    const margin = (end - begin) * 0.1;
    view.show(begin - margin, +end + margin);
    view.choose([+begin, +end]);
    document.getElementById(name).scrollIntoView({ block: "center" });
  },
};
function row(id, table) { // a row of a table, which a search may have hidden
  const found = document.getElementById(id);
  if (!found) return;
  if (found.hidden) tables.get(table).search("");
  for (const other of document.querySelectorAll("tr.linked")) other.classList.remove("linked");
  found.classList.add("linked");
  found.scrollIntoView({ block: "center" });
  (found.querySelector("a") ?? found).focus({ preventScroll: true });
}
function follow() {
  const found = /^#(command|life|copies-of|buffer|copy|range)-(.+)$/.exec(location.hash);
  if (found) GO[found[1]](found[2]);
}
// The same link may be followed twice: then the address does not change.
document.addEventListener("click", event => {
  const hash = event.target.closest?.("a[href^='#']")?.getAttribute("href");
  if (hash && hash === location.hash) follow();
});
addEventListener("hashchange", follow);
follow();
})();
