// Runs the sample calls of the landing page with the visitor's text, and shows the status, time and body.
"use strict";

for (const form of document.querySelectorAll(".run")) {
  const panel = form.closest(".call");
  const status = form.querySelector("[role=status]");
  const answer = panel.querySelector(".answer code");
  const { q } = form.elements;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = q.value.trim();
    const query = new URLSearchParams(text === q.defaultValue ? {} : { q: text });
    panel.querySelector(".text").textContent = text;
    const parts = document.createTreeWalker(panel.querySelector("pre"), NodeFilter.SHOW_TEXT);
    while (parts.nextNode()) {
      const { currentNode } = parts;
      currentNode.data = currentNode.data.replace(/([?&])q=[^&"]*/, (_, mark) => mark + new URLSearchParams({ q: text }));
    }
    status.textContent = "…";
    const start = performance.now();
    try {
      const response = await fetch(`/site/samples/${form.querySelector("[data-sample]").dataset.sample}?${query}`);
      const body = await response.text();
      const took = Math.round(performance.now() - start);
      const received = JSON.parse(body);
      if (!response.ok) {
        status.textContent = received.error.message;
        return;
      }
      const json = JSON.stringify(received, null, 2);
      status.textContent = `${response.status} OK · ${took} ms · ${body.length} characters`;
      if (json !== answer.textContent) answer.textContent = json; // an equal answer keeps its colors
    } catch {
      status.textContent = "The server didn’t respond. Try again.";
    }
  });
}
