// Runs the sample calls of the landing page and shows the status, time and body.
"use strict";

for (const button of document.querySelectorAll("[data-sample]")) {
  const panel = button.closest(".call");
  const status = panel.querySelector("[role=status]");
  const answer = panel.querySelector(".answer code");
  button.hidden = false;
  button.addEventListener("click", async () => {
    status.textContent = "…";
    const start = performance.now();
    try {
      const response = await fetch("/site/samples/" + button.dataset.sample);
      const body = await response.text();
      const took = Math.round(performance.now() - start);
      const text = JSON.stringify(JSON.parse(body), null, 2);
      status.textContent = `${response.status} ${response.ok ? "OK" : "Error"} · ${took} ms · ${body.length} characters`;
      if (text !== answer.textContent) answer.textContent = text; // an equal answer keeps its colors
    } catch {
      status.textContent = "The server didn’t respond. Try again.";
    }
  });
}
