// Adds copy buttons and heading links, marks the current section in the list of contents, and focuses
// the search on "/". Pages work without it.
"use strict";

for (const pre of document.querySelectorAll("pre")) {
  let box = pre.parentElement;
  if (!box.classList.contains("code")) {
    box = document.createElement("div");
    box.className = "code";
    pre.replaceWith(box);
    box.append(pre);
  }
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(pre.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  box.append(button);
  pre.tabIndex = 0; // scrollable by keyboard
}

for (const heading of document.querySelectorAll(".prose :is(h2, h3, h4)[id]")) {
  const link = document.createElement("a");
  link.className = "anchor";
  link.href = "#" + heading.id;
  link.textContent = "#";
  link.setAttribute("aria-label", "Link to " + heading.textContent);
  heading.append(link);
}

const entries = new Map();
for (const link of document.querySelectorAll(".contents a")) {
  entries.set(decodeURIComponent(link.hash.slice(1)), link);
}
if (entries.size > 0) {
  const observer = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (!isIntersecting) continue;
      for (const link of entries.values()) link.classList.remove("current");
      entries.get(target.id).classList.add("current");
    }
  }, { rootMargin: "-70px 0px -70% 0px" });
  for (const id of entries.keys()) {
    const target = document.getElementById(id);
    if (target) observer.observe(target);
  }
}

// Remembers the language of samples.
const language = localStorage.getItem("language");
for (const sample of document.querySelectorAll(".sample")) {
  if (language && sample.dataset.language === language) sample.open = true;
  sample.querySelector("summary").addEventListener("click", () => {
    localStorage.setItem("language", sample.dataset.language);
  });
}

document.addEventListener("keydown", (event) => {
  const field = document.querySelector(".find input");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, [contenteditable]")) return;
  event.preventDefault();
  field.focus();
});
