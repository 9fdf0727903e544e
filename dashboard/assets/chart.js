// Tooltips of charts: with the pointer, or with the arrow keys. The table of the chart has the numbers,
// so charts work without scripts.
(() => {
  "use strict";

  function element(name, text) {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    return e;
  }

  function tooltips(frame) {
    const [left, top, right, bottom, count] = frame.dataset.chart.split(" ").map(Number);
    const figure = frame.parentElement, svg = frame.firstElementChild, box = svg.viewBox.baseVal;
    const heads = [...figure.querySelectorAll("thead th")].map((th) => th.textContent.trim());
    const rows = [...figure.querySelectorAll("tbody tr")].slice(0, count).map((tr) => [...tr.cells].map((c) => c.textContent.trim()));
    if (rows.length === 0) return;

    const marker = document.createElementNS(svg.namespaceURI, "rect");
    for (const [name, value] of Object.entries({ class: "marker", y: top, width: (right - left) / count, height: bottom - top })) {
      marker.setAttribute(name, value);
    }
    const tip = element("div");
    tip.className = "tip";
    tip.hidden = true;
    const pointer = element("div");
    pointer.className = "pointer";
    pointer.tabIndex = 0;
    for (const [name, value] of Object.entries({ role: "slider", "aria-label": "Chart values: " + svg.querySelector("title").textContent, "aria-valuemin": 1, "aria-valuemax": rows.length })) {
      pointer.setAttribute(name, value);
    }
    let at = rows.length - 1;
    const words = (row) => row[0] + ": " + row.slice(1).map((n, i) => (row.length > 2 ? heads[i + 1] + " " : "") + n).join(", ");
    const describe = () => {
      pointer.setAttribute("aria-valuenow", at + 1);
      pointer.setAttribute("aria-valuetext", words(rows[at]));
    };

    function show(i) {
      at = Math.min(Math.max(i, 0), rows.length - 1);
      describe();
      marker.setAttribute("x", left + at * (right - left) / count);
      svg.append(marker);
      tip.replaceChildren(element("strong", rows[at][0]), ...rows[at].slice(1).flatMap((n, i) => {
        const line = element("div");
        line.append(element("span", heads[i + 1]), element("b", n));
        return n === "0" && i < rows[at].length - 2 ? [] : [line];
      }));
      tip.hidden = false;
      const scale = frame.clientWidth / box.width, center = (left - box.x + (at + .5) * (right - left) / count) * scale;
      const beside = (right - left) / count * scale / 2 + 8;
      const x = center < frame.clientWidth / 2 ? center + beside : center - beside - tip.offsetWidth;
      tip.style.left = Math.min(Math.max(x, 0), frame.clientWidth - tip.offsetWidth) + "px";
    }

    function hide() {
      tip.hidden = true;
      marker.remove();
    }

    const follow = (event) => {
      const x = box.x + (event.clientX - frame.getBoundingClientRect().left) * box.width / frame.clientWidth;
      if (x < left || x > right) return hide();
      show(Math.floor((x - left) * count / (right - left)));
    };
    pointer.addEventListener("pointermove", follow);
    pointer.addEventListener("pointerdown", follow);
    pointer.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    pointer.addEventListener("focus", () => { if (pointer.matches(":focus-visible")) show(at); });
    pointer.addEventListener("blur", hide);
    pointer.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: rows.length - 1 }[event.key];
      if (event.key === "Escape") hide();
      if (to === undefined) return;
      show(to);
      event.preventDefault();
    });
    describe();
    frame.append(pointer, tip);
  }

  for (const frame of document.querySelectorAll("[data-chart]")) tooltips(frame);
})();
