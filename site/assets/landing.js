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
      const received = JSON.parse(body);
      if (!response.ok) {
        status.textContent = received.error.message;
        return;
      }
      status.textContent = `${response.status} OK · ${took} ms · ${body.length} characters`;
      const text = JSON.stringify(received, null, 2);
      if (text !== answer.textContent) showJSON(answer, text); // the first answer is formatted by the server
    } catch {
      status.textContent = "The server didn’t respond. Try again.";
    }
  });
}
