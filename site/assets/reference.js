// Inserts the reader's key and the values of forms into the samples of a reference page, and sends calls
// with the key or the session. The key stays in this tab and is sent only to the API of this site. Runs
// after site.js.
"use strict";

const keyForm = document.querySelector(".key");
const keyField = keyForm.elements.key;
const keyProblem = keyForm.querySelector(".problem");
const samples = new Map();
let waiting; // the form whose reader is entering a key
for (const pre of document.querySelectorAll(".sample pre, .key + .code pre")) {
  samples.set(pre, [...pre.childNodes]);
}

// validKey returns the reader's key, or "".
function validKey() {
  return keyField.validity.valid ? keyField.value.trim() : "";
}

// canSend reports whether the reader can send the call of a form: with a key, or, if none is entered, with
// a session unless it calls a tool.
function canSend(form) {
  return Boolean(validKey()) || !keyField.value && signedIn && !form.dataset.endpoint;
}

// showKey shows the key in the samples, and the buttons for sending calls if there is a key or a session.
function showKey() {
  const key = validKey();
  store("sessionStorage", "key", key || null);
  keyForm.querySelector("button").hidden = !keyField.value;
  keyForm.querySelector(".keyless").hidden = Boolean(key) || !signedIn;
  if (keyField.validity.valid) keyProblem.hidden = true;
  for (const form of document.querySelectorAll(".try")) {
    form.hidden = false;
    form.querySelector("button").hidden = !canSend(form);
    form.querySelector('[href="#key"]').hidden = canSend(form);
  }
  for (const pre of samples.keys()) showSample(pre, key);
}

// showSample shows a sample, with the key if there is one.
function showSample(pre, key) {
  pre.replaceChildren(...samples.get(pre).map((node) => node.cloneNode(true)));
  if (key) fillKey(pre, key);
}

keyField.value = stored("sessionStorage", "key") || "";
keyField.addEventListener("input", () => {
  showKey();
  if (waiting && validKey()) {
    waiting.querySelector("button").focus();
    waiting = null;
  }
});
keyField.addEventListener("change", () => { keyProblem.hidden = keyField.validity.valid; }); // not while typing
keyForm.addEventListener("submit", (event) => { event.preventDefault(); keyForm.reportValidity(); });
keyForm.querySelector("button").addEventListener("click", () => { keyField.value = ""; showKey(); keyField.focus(); });
document.addEventListener("signed-in", showKey);
keyForm.hidden = false;
showKey();

// askKey leads to the field for a key. When the reader has entered one, the focus returns to the form.
function askKey(form) {
  waiting = form;
  keyField.focus();
}

for (const form of document.querySelectorAll(".try")) {
  let timer, update;
  form.addEventListener("input", () => {
    const call = form.querySelector(".request");
    if (call) {
      call.replaceChildren();
      appendCode(call, "GET " + target(form));
    }
    clearTimeout(timer);
    update?.abort();
    update = new AbortController();
    timer = setTimeout(updateSamples, 200, form, update.signal);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (canSend(form)) send(form, validKey());
    else askKey(form);
  });
  form.querySelector('[href="#key"]').addEventListener("click", (event) => { event.preventDefault(); askKey(form); });
}

// fillKey replaces the expression for the key in a sample, which may span several elements, and removes
// the import that only the expression needs.
function fillKey(pre, key) {
  const quoted = `"${key}"`;
  for (const [expression, value] of [
    ["$API_KEY", key], ["process.env.API_KEY", quoted],
    ['os.environ["API_KEY"]', quoted], ["import os\n", ""],
    ['os.Getenv("API_KEY")', quoted], ['\t"os"\n', ""],
  ]) {
    const from = pre.textContent.indexOf(expression);
    if (from < 0) continue;
    const range = document.createRange();
    const nodes = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
    let at = 0;
    while (nodes.nextNode()) {
      const { length } = nodes.currentNode;
      if (at <= from && from < at + length) range.setStart(nodes.currentNode, from - at);
      at += length;
      if (at >= from + expression.length) {
        range.setEnd(nodes.currentNode, length - (at - from - expression.length));
        break;
      }
    }
    range.deleteContents();
    const mark = document.createElement("mark");
    mark.textContent = value;
    mark.dataset.expression = expression; // printed instead of the key
    range.insertNode(mark);
  }
}

// updateSamples shows the code for the call that a form describes. The server writes it.
async function updateSamples(form, signal) {
  const operation = form.closest(".operation");
  const values = form.dataset.endpoint ? { arguments: JSON.stringify(toolArguments(form)) } : fieldValues(form);
  try {
    const response = await fetch(`/docs/samples/${operation.id}?${new URLSearchParams(values)}`, { signal });
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const [i, pre] of operation.querySelectorAll(".sample pre").entries()) {
      samples.set(pre, [...page.querySelectorAll("pre")[i].childNodes]);
      showSample(pre, validKey());
    }
    const note = operation.querySelector(".placeholders");
    if (note) note.hidden = !page.body.textContent.includes(note.querySelector("code").textContent);
  } catch {} // the samples keep the previous call
}

// fieldValues returns the trimmed values of a form by name, without empty ones.
function fieldValues(form) {
  const values = [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
  return Object.fromEntries(values.filter(([, value]) => value));
}

// target returns the path and query that the fields of a form describe.
function target(form) {
  const values = fieldValues(form);
  const path = form.dataset.path.replace(/{(\w+)}/g, (_, name) => {
    const value = encodeURIComponent(values[name] ?? "");
    delete values[name];
    return value;
  });
  const query = new URLSearchParams(values).toString().replaceAll("%2C", ",");
  return query ? path + "?" + query : path;
}

// toolArguments returns a tool's arguments. The server explains text of the wrong type.
function toolArguments(form) {
  const values = fieldValues(form);
  for (const [name, text] of Object.entries(values)) {
    const { type } = form.elements[name].dataset;
    const json = type === "array" ? text.split(",").map((part) => part.trim()) : type && parsed(text);
    if (["number", "boolean"].includes(typeof json) || Array.isArray(json)) values[name] = json;
  }
  return values;
}

// request returns the arguments of fetch for the call of a form.
function request(form, key) {
  const { endpoint, path } = form.dataset;
  const always = { cache: "no-store", redirect: "error" };
  if (endpoint) {
    const headers = { Authorization: "Bearer " + key, "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: path, arguments: toolArguments(form) } };
    return [endpoint, { ...always, method: "POST", headers, body: JSON.stringify(call), credentials: "omit" }];
  }
  const url = target(form);
  if (key) return [url, { ...always, headers: { "X-API-Key": key }, credentials: "omit" }];
  return ["/requests/try", { ...always, method: "POST", body: new URLSearchParams({ url }) }];
}

// send sends the call of a form and shows the response.
async function send(form, key) {
  const button = form.querySelector("button");
  const status = form.querySelector(".status");
  const body = form.querySelector("pre");
  body.closest(".code").hidden = true;
  button.disabled = true;
  status.textContent = "Sending…";
  status.scrollIntoView({ block: "nearest" });
  const began = performance.now();
  let problems;
  try {
    const response = await fetch(...request(form, key));
    const took = Math.round(performance.now() - began);
    const received = await response.text();
    const text = parsed(received).result?.content[0].text ?? received; // a tool's result, or its error
    const answer = parsed(text);
    status.replaceChildren(...outcome(form.dataset.cost, response, answer, took));
    showBody(body, text);
    body.closest(".code").hidden = !text;
    body.closest(".code").scrollIntoView({ block: "nearest" });
    problems = answer.error?.details;
  } catch (error) {
    status.textContent = "The request failed: " + error.message;
  }
  status.scrollIntoView({ block: "nearest" });
  markInvalid(form, problems);
  button.disabled = false;
  if (document.activeElement === document.body) button.focus({ preventScroll: true }); // a disabled button loses the focus
}

// markInvalid explains the problems of the fields that an error names, and shows the first one.
function markInvalid(form, details = {}) {
  const named = [...form.elements].filter(({ name }) => name && Array.isArray(details[name]));
  for (const field of form.elements) field.removeAttribute("aria-invalid");
  for (const problem of form.querySelectorAll(".problem")) problem.remove();
  for (const field of named) {
    field.ariaInvalid = "true";
    const problem = document.createElement("span");
    problem.className = "problem";
    problem.textContent = details[field.name].join(" ");
    field.after(problem); // in the label, for screen readers
    const group = field.closest("details");
    if (group) group.open = true;
  }
  named[0]?.focus();
}

// outcome returns the lines about a response: status, error message with a link to a guide, charge and
// request ID. cost is the cost of the operation, in words.
function outcome(cost, response, answer, took) {
  const { error } = answer;
  const status = document.createElement("strong");
  const code = error?.code ?? (response.ok ? "OK" : response.statusText);
  status.textContent = `${error && response.ok ? "Error" : response.status} ${code} · ${took} ms`;
  const lines = [status];
  if (error) {
    const [href, textContent] = code === "quota_exceeded" ? ["/docs/quotas#wait-and-retry", "Wait and retry"] : ["/docs/errors", "Errors"];
    const message = document.createElement("span");
    message.append(error.message, " See ", Object.assign(document.createElement("a"), { href, textContent }), ".");
    lines.push(message);
  }
  lines.push(charge(cost, response, answer));
  const id = response.headers.get("X-Request-Id");
  const line = document.createElement("span");
  if (id) line.append("Request ID ", id);
  if (id && keyForm.dataset.log && signedIn && response.status !== 401) { // the log has the account's calls
    const link = document.createElement("a");
    link.href = keyForm.dataset.log + "?" + new URLSearchParams({ q: id });
    link.textContent = "See it in the request log";
    line.append(" · ", link);
  }
  lines.push(line);
  return lines.flatMap((line) => [line, document.createElement("br")]);
}

// charge describes what a call cost: nothing, one unit, one per row, or one per number of rows. The rows
// are the data or a list in it.
function charge(cost, response, answer) {
  const [, unit, per] = cost.match(/(?:one|1) (detail view|list record)(?: per (\d*))?/) ?? [];
  const data = answer.data ?? answer;
  const rows = [data, ...Object.values(data)].find(Array.isArray);
  const units = !unit || !response.ok || answer.error ? 0 : per === undefined ? 1 : Math.ceil((rows?.length ?? 0) / (per || 1));
  if (!units) return "No charge.";
  const header = (name) => Number(response.headers.get(`X-${unit.replace(" ", "-")}s-${name}`)).toLocaleString("en-US");
  return `Charged ${units} ${unit}${units === 1 ? "" : "s"}; ${header("Remaining")} of ${header("Limit")} left this month.`;
}

// parsed decodes JSON. It returns an empty object for null and invalid JSON.
function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function showBody(element, text) {
  try {
    showJSON(element, JSON.stringify(JSON.parse(text), null, 2));
  } catch {
    element.textContent = text; // CSV, NDJSON or plain text
  }
}
