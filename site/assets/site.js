// For all public pages: copy buttons, heading links, the current section, search, the language of samples, sample
// responses, and the way back to the dashboard. Pages work without it.
"use strict";

// stored returns the value of a key in a storage, or null if the browser blocks site data.
function stored(storage, key) {
  try {
    return window[storage].getItem(key);
  } catch {
    return null;
  }
}

// store sets the value of a key in a storage; null removes it. It does nothing if the browser blocks
// site data.
function store(storage, key, value) {
  try {
    if (value === null) window[storage].removeItem(key);
    else window[storage].setItem(key, value);
  } catch {}
}

// appendCode appends code without line breaks after hyphens, like unbroken in line_breaks.go.
function appendCode(element, code) {
  for (const [i, part] of code.split(/((?:-+|\?)(?:\w{1,4}-+){0,4}[^\s-])/u).entries()) {
    const box = i % 2 ? document.createElement("u") : element;
    box.append(part);
    if (i % 2) element.append(box);
  }
}

// showJSON shows JSON in the colors that the server's samples have.
function showJSON(element, json) {
  const colored = /("(?:[^"\\]|\\.)*")(?=(:?))|true|false|null|-?\d[\d.eE+-]*/g;
  element.replaceChildren();
  let at = 0;
  for (const match of json.matchAll(colored)) {
    const [text, string, colon] = match;
    const part = document.createElement("i");
    if (colon || !string) part.className = colon ? "n" : "v"; // name, other value
    if (string) appendCode(part, text);
    else part.append(text);
    element.append(json.slice(at, match.index), part);
    at = match.index + text.length;
  }
  element.append(json.slice(at));
}

for (const pre of document.querySelectorAll("pre")) {
  let box = pre.parentElement;
  if (!box.classList.contains("code")) {
    box = document.createElement("div");
    box.className = "code";
    pre.replaceWith(box);
    box.append(pre);
  }
  pre.tabIndex = 0; // scrollable by keyboard
  if (!navigator.clipboard) continue; // on plain HTTP
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Couldn’t copy";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  box.append(button);
}

for (const heading of document.querySelectorAll(".prose :is(h2, h3, h4)[id]")) {
  const link = document.createElement("a");
  link.className = "anchor";
  link.href = "#" + heading.id;
  link.textContent = "#";
  link.setAttribute("aria-label", "Link to " + heading.textContent);
  heading.append(link);
}

// reveal scrolls a menu to one of its links.
function reveal(link) {
  const menu = link?.closest(".side, .contents");
  if (!menu) return;
  const { top, bottom } = menu.getBoundingClientRect();
  const at = link.getBoundingClientRect();
  if (at.top < top || at.bottom > bottom) menu.scrollTop += at.top - (top + bottom) / 2;
}

reveal(document.querySelector(".side [aria-current]"));

const entries = new Map();
for (const link of document.querySelectorAll(".contents a, .side .deep")) {
  entries.set(decodeURIComponent(link.hash.slice(1)), link);
}
const targets = [...entries.keys()].map((id) => document.getElementById(id)).filter(Boolean);
if (targets.length > 0) {
  const markSection = () => {
    const atEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    const current = atEnd ? targets.at(-1) : targets.findLast((t) => t.getBoundingClientRect().top < innerHeight * .3);
    for (const [id, link] of entries) {
      if (id === (current ?? targets[0]).id) {
        link.setAttribute("aria-current", "location");
        reveal(link);
      } else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", markSection, { passive: true });
  markSection();
}

// showLanguage shows all samples in a language.
function showLanguage(language) {
  for (const sample of document.querySelectorAll(".sample")) {
    if (sample.dataset.language === language) sample.open = true;
  }
}

// Choosing a language applies to all samples and is remembered. The open tab of a group stays open.
showLanguage(stored("localStorage", "language"));
for (const tab of document.querySelectorAll(".tabs > details")) {
  const summary = tab.querySelector("summary");
  summary.addEventListener("click", (event) => {
    event.preventDefault();
    tab.open = true;
    const { language } = tab.dataset;
    if (!language) return;
    const { top } = summary.getBoundingClientRect();
    showLanguage(language);
    scrollBy({ top: summary.getBoundingClientRect().top - top, behavior: "instant" }); // samples above may change height
    store("localStorage", "language", language);
  });
}

// Redirects old links, which pointed to the list of objects, to the object's page.
if (location.pathname === "/docs/reference/objects" && location.hash) {
  const link = document.getElementById(location.hash.slice(1))?.querySelector(":scope > a");
  if (link) location.replace(link.href);
}

document.addEventListener("keydown", (event) => {
  const field = document.querySelector(".find input");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea, [contenteditable]") || !field.checkVisibility()) return;
  event.preventDefault();
  field.focus();
});

// Shows the first results of the search while typing: a combobox as in the ARIA Authoring Practices.
{
  const field = document.querySelector(".find input");
  const list = document.createElement("div");
  const said = document.createElement("p");
  let timer, request, active;
  Object.assign(field, { role: "combobox", ariaAutoComplete: "list", ariaExpanded: "false" });
  field.setAttribute("aria-controls", "found");
  Object.assign(list, { id: "found", role: "listbox", ariaLabel: "Results", hidden: true });
  Object.assign(said, { role: "status", className: "unseen" });
  field.after(list, said);
  const activate = (option) => {
    if (active) active.ariaSelected = "false";
    if (option) option.ariaSelected = "true";
    option?.scrollIntoView({ block: "nearest" });
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
    active = option;
  };
  const show = (html, text = "") => {
    activate();
    list.innerHTML = html;
    const { length } = list.children;
    list.hidden = !length;
    field.ariaExpanded = length > 0;
    said.textContent = length ? "Results: " + length : text;
    said.className = !length && text ? "none" : "unseen";
  };
  const load = async ({ signal }) => {
    try {
      const response = await fetch("/docs/find?instant=1&q=" + encodeURIComponent(field.value), { signal });
      if (!response.ok) throw response;
      show(await response.text(), "No results");
    } catch {
      if (!signal.aborted) show(""); // the form still works
    }
  };
  const stop = () => { clearTimeout(timer); request?.abort(); };
  const close = () => { stop(); show(""); };
  field.addEventListener("input", () => {
    stop();
    activate(); // Enter searches for the new text
    request = new AbortController();
    timer = setTimeout(field.value.trim() ? load : close, 150, request);
  });
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (list.hidden || event.isComposing) return;
    if (step) {
      const all = [...list.children];
      activate(all.at((all.indexOf(active) + (active || step > 0 ? step : 0)) % all.length));
    } else if (event.key === "Enter" && active) active.click();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  list.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus in the field
  list.addEventListener("click", () => setTimeout(() => field.blur()));
}

// Forgets what the tab keeps of a session: the API key, and the list that labels were opened from.
function forgetSession() {
  for (const name of ["key", "labels"]) store("sessionStorage", name, null);
  const field = document.querySelector(".key input");
  if (!field?.value) return;
  field.value = "";
  field.dispatchEvent(new Event("input"));
}

let signedIn = false; // calls of the reference can use the session

// Leads signed-in readers back to the dashboard. Pages are the same for everyone and cached, so this
// asks the server. The dashboard and the sign-in pages set a flag in the browser's storage, so other
// visitors send no request.
async function showSession() {
  const response = await fetch("/sign-in/status", { cache: "no-store" });
  if (!response.ok) return;
  if (!(await response.json()).signed_in) {
    store("localStorage", "signed-in", null);
    forgetSession();
    return;
  }
  for (const element of document.querySelectorAll("[data-session]")) {
    element.hidden = element.dataset.session === "visitor";
  }
  signedIn = true;
  document.dispatchEvent(new Event("signed-in"));
}

// After signing in, readers return to the page that they were reading.
if (location.pathname.startsWith("/docs")) {
  for (const link of document.querySelectorAll('a[href="/sign-in"]')) {
    link.search = new URLSearchParams({ return: location.pathname });
  }
}

if (stored("localStorage", "signed-in")) showSession().catch(() => {}); // the page works as it is

if (location.pathname.startsWith("/sign-in")) {
  forgetSession(); // after signing out
  document.addEventListener("submit", () => store("localStorage", "signed-in", "1")); // the next page asks whether it succeeded
}

// Buttons load the newest sample responses.
for (const button of document.querySelectorAll("[data-sample]")) {
  const panel = button.closest(".call");
  const status = panel.querySelector("[role=status]");
  const answer = panel.querySelector(".answer code");
  button.hidden = false;
  button.addEventListener("click", async () => {
    status.textContent = "…";
    try {
      const response = await fetch("/site/samples/" + button.dataset.sample);
      const received = await response.json();
      if (!response.ok) {
        status.textContent = received.error.message;
        return;
      }
      status.textContent = `${response.status} OK · sample response, updated hourly`;
      const text = JSON.stringify(received, null, 2);
      if (text !== answer.textContent) showJSON(answer, text); // the first answer is formatted by the server
      if (!matchMedia("(prefers-reduced-motion: reduce)").matches) answer.animate?.({ opacity: [0, 1] }, 400);
    } catch {
      status.textContent = "The server didn’t respond. Try again.";
    }
  });
}
