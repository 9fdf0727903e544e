// Optional enhancements: local times on hover, copy and print buttons, single submission and preview states.
// Pages work without scripts.
(() => {
  "use strict";

  // Public pages then ask whether this browser is still signed in (site/assets/site.js).
  try {
    if (document.querySelector("nav[aria-label=Dashboard]")) localStorage.setItem("signed-in", "1");
  } catch { /* storage is disabled */ }

  const local = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" });

  function improve(root) {
    for (const time of root.querySelectorAll("time[datetime*=T]")) {
      const text = local.format(new Date(time.dateTime)), exact = time.parentElement.matches(".when") && time.nextElementSibling;
      if (!exact) {
        time.title = text;
      } else if (new Date(time.dateTime).getTimezoneOffset() && !exact.querySelector(".local")) {
        const line = document.createElement("span");
        line.className = "local";
        line.textContent = text;
        exact.append(line);
      }
    }
    if (navigator.clipboard) {
      for (const button of root.querySelectorAll("[data-copy]")) button.hidden = false;
    }
    for (const element of root.querySelectorAll("[data-print], [data-scripted]")) element.hidden = false;
  }

  const tab = document.querySelector(".tabs [aria-current]"); // on phones, tabs scroll
  if (tab) {
    const bar = tab.parentElement; // not positioned, so both offsets have the same origin
    bar.scrollLeft = tab.offsetLeft + tab.offsetWidth - bar.offsetLeft - bar.clientWidth;
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-print]")) print();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const label = button.firstChild;
    const before = label.nodeValue;
    try {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      label.nodeValue = "Copied";
    } catch {
      label.nodeValue = "Couldn’t copy. Select the text instead.";
    }
    setTimeout(() => { label.nodeValue = before; }, 2000);
  });

  // Pass a new key to the API reference in this tab, which site.js reads. Forget it when the user signs out.
  // Another tab doesn't share the storage. It throws if the browser blocks site data.
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-use-key]") || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    try {
      sessionStorage.setItem("key", document.querySelector(".secret code").textContent.trim());
    } catch {}
  });
  document.addEventListener("submit", (event) => {
    if (event.target.getAttribute("action") !== "/sign-out") return;
    try {
      sessionStorage.removeItem("key");
    } catch {}
  });

  // Escape closes the menu on small screens and hides an exact time.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const open = document.querySelector(".menu[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    }
    document.activeElement.closest(".when")?.blur();
  });

  // The slash key focuses the page's search field, or the docs search if there is none.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    const field = ["main input[name=q]", ".find input"].map((s) => document.querySelector(s)).find((f) => f?.checkVisibility());
    if (!field || event.target.closest?.("input, select, textarea, [contenteditable]")) return;
    event.preventDefault();
    field.focus();
  });

  // Link a label to the list that it was opened from, the last list of labels in this tab, and to its neighbors there.
  // The list holds only labels that a page has shown. Public pages, such as sign-in, delete it when the session has
  // ended (site/assets/site.js).
  const listKey = "labels", steps = document.querySelector("[data-steps]");
  function rememberList() {
    const paths = [...document.querySelectorAll("main :is(h3, th) > a")].map((a) => a.pathname);
    const labels = paths.filter((path) => /^\/explore\/\d{14}$/.test(path));
    const charged = location.pathname.startsWith("/explore/permittees/"); // opening it again costs another detail view
    const list = charged ? "" : location.pathname + location.search, place = document.querySelector(".pager") ? " on this page" : "";
    if (labels.length) sessionStorage.setItem(listKey, JSON.stringify({ list, labels, place }));
  }
  function showSteps() {
    const { list, labels = [], place = "" } = JSON.parse(sessionStorage.getItem(listKey)) ?? {}, at = labels.indexOf(location.pathname);
    if (at < 0) return;
    const link = (path, textContent, rel) => path ? [Object.assign(document.createElement("a"), { textContent, rel, href: location.origin + path })] : [];
    steps.replaceChildren(...link(list && list + "#" + location.pathname.slice(-14), "Back to list", ""), ...link(labels[at - 1], "‹ Previous", "prev"),
      `${at + 1} of ${labels.length}${place}`, ...link(labels[at + 1], "Next ›", "next"));
    steps.hidden = false;
  }
  addEventListener("pageshow", () => {
    try {
      if (document.body.classList.contains("alone")) sessionStorage.removeItem(listKey);
      else if (steps) showSteps();
      else rememberList();
    } catch { /* storage is blocked */ }
  });

  // Submit a data-once form only once. Allow it again after ten seconds, or when the user comes back to the page.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!("once" in form.dataset)) return;
    if (form.dataset.once) event.preventDefault();
    form.dataset.once = "sent";
    setTimeout(() => { form.dataset.once = ""; }, 10_000); // there is no event for a canceled submission
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-once]")) form.dataset.once = "";
  });

  // Mark the preview as busy while a new one loads, and clear it on failure: an outdated count would mislead.
  const previewOf = (event) => event.target.closest?.("#preview");
  document.addEventListener("htmx:beforeSend", (event) => previewOf(event)?.setAttribute("aria-busy", "true"));
  document.addEventListener("htmx:afterRequest", (event) => previewOf(event)?.removeAttribute("aria-busy"));
  for (const failure of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(failure, (event) => {
      const preview = previewOf(event);
      if (!preview) return;
      preview.replaceChildren();
      document.getElementById("preview-said").textContent = preview.dataset.failed;
    });
  }

  // Keep the focus when an update replaces the focused element: move it to the matching new control, or else to the
  // first control in the replaced part of the page, or to the part itself.
  let held = null, part = "";
  const controls = "a, button, summary, [tabindex]";
  const about = (e) => `${e.tagName} ${e.href ?? ""} ${e.ariaLabel ?? ""}`;
  document.addEventListener("htmx:beforeSwap", () => {
    held = document.activeElement;
    part = held.parentElement?.closest("[id]")?.id ?? "";
  });
  function restoreFocus() {
    const region = document.getElementById(part);
    if (!region || held.isConnected || document.activeElement !== document.body) return;
    const all = [...region.querySelectorAll(controls)];
    const next = all.find((e) => about(e) === about(held)) ?? all[0] ?? region;
    if (next === region) region.tabIndex = -1;
    next.focus({ preventScroll: true });
  }
  document.addEventListener("htmx:afterSwap", (event) => {
    improve(event.target);
    restoreFocus();
  });
  improve(document);
})();
