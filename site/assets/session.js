// Leads signed-in readers back to the dashboard. Pages are the same for everyone and cached, so this
// asks the server. The dashboard leaves a note in the browser, so that other visitors send no request.
"use strict";

async function showSession() {
  const response = await fetch("/sign-in/status", { cache: "no-store" });
  if (!response.ok) return;
  if (!(await response.json()).signed_in) {
    localStorage.removeItem("signed-in");
    return;
  }
  for (const element of document.querySelectorAll("[data-session]")) {
    element.hidden = element.dataset.session === "none";
  }
}

if (localStorage.getItem("signed-in")) showSession().catch(() => {}); // the page works as it is
