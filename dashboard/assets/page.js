// What pages gain by a script: times in the reader's own zone on hover, and buttons that copy. Everything else works without.
(() => {
  "use strict";

  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

  function improve(root) {
    for (const time of root.querySelectorAll("time[datetime*=T]")) {
      time.title = local.format(new Date(time.dateTime));
    }
    if (navigator.clipboard) {
      for (const button of root.querySelectorAll("[data-copy]")) button.hidden = false;
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const label = button.firstChild;
    const before = label.nodeValue;
    try {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      label.nodeValue = "Copied";
    } catch {
      label.nodeValue = "Select and copy it by hand";
    }
    setTimeout(() => { label.nodeValue = before; }, 2000);
  });

  // A link of the menu that is open on a small screen leads away: the menu need not stay open.
  document.addEventListener("keydown", (event) => {
    const open = document.querySelector(".menu[open]");
    if (event.key === "Escape" && open) {
      open.open = false;
      open.querySelector("summary").focus();
    }
  });

  // A form that makes something is sent once, however often its button is pressed; coming back to the page, or after a while, it may be sent again.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!("once" in form.dataset)) return;
    if (form.dataset.once) event.preventDefault();
    form.dataset.once = "sent";
    setTimeout(() => { form.dataset.once = ""; }, 10_000); // the sending may have been stopped, of which no event tells
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-once]")) form.dataset.once = "";
  });

  // What a preview shows is old while another is asked for, and goes when that fails: a count that is not of what is typed would mislead.
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

  document.addEventListener("htmx:afterSwap", (event) => improve(event.target));
  improve(document);
})();
