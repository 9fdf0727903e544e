// Leads signed-in readers back to the dashboard. Pages are the same for everyone and cached, so this
// asks the server. The dashboard sets a flag in the browser's storage, so other visitors send no request.
"use strict";

// Browsers can block storage, in which case pages stay as they are.
function stored(store, name) {
  try {
    return window[store].getItem(name);
  } catch {
    return null;
  }
}

// Forgets what the tab keeps of a session: the API key, and the list that labels were opened from.
function forgetSession() {
  try {
    for (const name of ["key", "labels"]) sessionStorage.removeItem(name);
  } catch {} // storage is blocked
  const field = document.querySelector(".key input"); // site.js has filled it in
  if (!field?.value) return;
  field.value = "";
  field.dispatchEvent(new Event("input"));
}

async function showSession() {
  const response = await fetch("/sign-in/status", { cache: "no-store" });
  if (!response.ok) return;
  if (!(await response.json()).signed_in) {
    localStorage.removeItem("signed-in");
    forgetSession();
    return;
  }
  for (const element of document.querySelectorAll("[data-session]")) {
    element.hidden = element.dataset.session === "visitor";
  }
}

if (stored("localStorage", "signed-in")) showSession().catch(() => {}); // the page works as it is

if (location.pathname.startsWith("/sign-in")) forgetSession(); // after signing out
