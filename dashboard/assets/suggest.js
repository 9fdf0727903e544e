// Suggestions in fields with data-suggest: a combobox with a list of values, as in the ARIA Authoring
// Practices. The fields work without scripts.
(() => {
  "use strict";

  const delay = 200; // milliseconds without typing before a request
  const said = document.createElement("div"); // announces changes to screen readers
  said.className = "unseen";
  said.setAttribute("role", "status");
  document.querySelector("main").append(said);

  function element(name, text, className) {
    const e = document.createElement(name);
    e.textContent = text;
    if (className) e.className = className;
    return e;
  }

  function combobox(input) {
    const list = document.createElement("ul");
    list.id = input.id + "-list";
    list.hidden = true;
    list.className = "suggestions";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Suggestions for " + input.labels[0].textContent.trim());
    input.after(list);
    input.autocomplete = "off";
    if (input.dataset.placeholder) input.placeholder = input.dataset.placeholder;
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id })) {
      input.setAttribute(name, value);
    }

    let timer, request, active = -1;
    const kinds = input.dataset.suggest.split(" "); // fields of the endpoint

    // canSuggest reports whether to ask the server. Short lists are suggested without text, too.
    const canSuggest = () => /[\p{L}\p{N}]/u.test(input.value) || ["category", "origin", "class", "grape"].includes(kinds[0]);

    function close() {
      clearTimeout(timer);
      request?.abort();
      list.hidden = true;
      said.textContent = "";
      input.setAttribute("aria-expanded", "false");
      activate(-1);
    }

    function activate(i) {
      list.children[active]?.setAttribute("aria-selected", "false");
      active = i;
      const option = list.children[i];
      if (!option) return input.removeAttribute("aria-activedescendant");
      option.setAttribute("aria-selected", "true");
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    }

    function accept(option) {
      input.value = option.dataset.value;
      close();
      said.textContent = input.value;
      if (input.type === "search") search(option.dataset.permit);
    }

    // search submits the form with the accepted brand or permit, so that it finds the labels in the suggestion's count.
    // If the form has no dates, it searches all dates, because the count covers them.
    function search(permit) {
      const query = new URLSearchParams(new FormData(input.form));
      if (permit) {
        query.delete("q");
        query.set("permit_number", permit);
      }
      const dates = ["date_range", "approval_date_from", "approval_date_to"];
      if (!dates.some((name) => query.get(name))) query.set("date_range", "all");
      location.assign(input.form.action + "?" + query);
    }

    // valueOf returns the text that accepting a suggestion enters. In quotes, a brand is the whole name.
    function valueOf(v) {
      const quoted = `"${v.value}"`;
      return "quote" in input.dataset && quoted.length <= input.maxLength ? quoted : v.permit_number || v.value;
    }

    function show(values) {
      active = -1;
      input.removeAttribute("aria-activedescendant");
      list.replaceChildren(...values.map((v, i) => {
        const option = document.createElement("li");
        option.id = list.id + "-" + i;
        option.dataset.value = valueOf(v);
        option.dataset.permit = v.permit_number || "";
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        const name = element("bdi", v.value);
        const count = element("span", v.count.toLocaleString("en-US"), "n");
        count.append(element("span", v.count === 1 ? " label" : " labels", "unseen"));
        const detail = v.permit_number || (kinds.length > 1 ? "Brand" : "");
        option.append(name, " ", ...(detail ? [element("bdi", detail, "soft"), " "] : []), count);
        return option;
      }));
      const opens = list.hidden;
      list.hidden = values.length === 0;
      if (opens) list.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-expanded", String(!list.hidden));
      said.textContent = values.length === 1 ? "1 suggestion" : `${values.length || "No"} suggestions`;
    }

    // load requests the suggestions for the text in the field. It calls then after showing them.
    async function load(then) {
      clearTimeout(timer);
      request?.abort();
      if (!canSuggest()) return close();
      const current = request = new AbortController();
      try {
        const lists = await Promise.all(kinds.map(async (field) => {
          const query = new URLSearchParams({ field, q: input.value, limit: kinds.length > 1 ? 5 : 8 });
          const response = await fetch("/explore/suggestions?" + query, { signal: current.signal, redirect: "error" });
          if (!response.ok) throw response;
          return (await response.json()).data;
        }));
        if (current.signal.aborted || document.activeElement !== input) return;
        show(lists.flat());
        then?.();
      } catch {
        if (!current.signal.aborted) close(); // refused or offline: the field works without suggestions
      }
    }

    input.addEventListener("input", () => {
      clearTimeout(timer);
      request?.abort();
      if (input.value.trim() === "") return close();
      timer = setTimeout(load, delay);
    });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.isComposing || event.ctrlKey || event.metaKey) return;
      const last = list.children.length - 1;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && list.hidden) {
        load(() => activate(step > 0 ? 0 : list.children.length - 1));
      } else if (step) {
        const next = active < 0 && step < 0 ? last : active + step;
        activate(next > last ? 0 : next < 0 ? last : next);
      } else if (event.key === "Enter" && active >= 0) {
        accept(list.children[active]);
      } else if (event.key === "Escape" && !list.hidden) {
        close();
      } else {
        return;
      }
      event.preventDefault();
    });
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus in the field
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) accept(option);
    });
  }

  for (const input of document.querySelectorAll("input[data-suggest]")) combobox(input);
})();
