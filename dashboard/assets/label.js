// Shows the images of a label in a dialog, one at a time, with zoom. Without scripts, the links open the images.
(() => {
  "use strict";

  const dialog = document.querySelector("dialog.zoom"), links = [...document.querySelectorAll("a[data-zoom]")];
  if (!dialog?.showModal || links.length === 0) return;
  const title = dialog.querySelector("#zoom-title"), stage = dialog.querySelector(".zoom-stage");
  const scales = [1, 1.5, 2, 3, 4, 6]; // 1 fits the image into the stage, up to twice its size
  let image = new Image(), opener = null, at = 0, scale = 0;

  function show(n) {
    at = (n + links.length) % links.length;
    const link = links[at], small = link.querySelector("img");
    image = new Image();
    image.alt = small.alt;
    image.referrerPolicy = "no-referrer";
    image.draggable = false;
    image.addEventListener("load", () => zoom(scale));
    image.src = link.href;
    stage.replaceChildren(image);
    title.textContent = `${link.parentElement.querySelector("strong").textContent}, ${at + 1} of ${links.length}`;
    zoom(0);
  }

  // zoom changes the scale. The point of the image at (x, y), from 0 to 1, stays in the middle.
  function zoom(to, x, y) {
    x ??= (stage.scrollLeft + stage.clientWidth / 2) / stage.scrollWidth;
    y ??= (stage.scrollTop + stage.clientHeight / 2) / stage.scrollHeight;
    scale = Math.min(Math.max(to, 0), scales.length - 1);
    const width = image.naturalWidth, fit = Math.min(stage.clientWidth / width, stage.clientHeight / image.naturalHeight, 2);
    if (width > 0) image.style.width = width * fit * scales[scale] + "px";
    image.classList.toggle("zoomed", scale > 0);
    stage.scrollLeft = x * stage.scrollWidth - stage.clientWidth / 2;
    stage.scrollTop = y * stage.scrollHeight - stage.clientHeight / 2;
    for (const button of dialog.querySelectorAll("[data-zoom-by]")) {
      button.ariaDisabled = scale === (button.dataset.zoomBy < 0 ? 0 : scales.length - 1);
    }
  }

  for (const button of dialog.querySelectorAll("[data-zoom-to]")) button.hidden = links.length < 2;
  for (const [n, link] of links.entries()) {
    link.classList.add("zoomable");
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      opener = link;
      dialog.showModal();
      show(n);
    });
  }

  dialog.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.zoomBy) zoom(scale + Number(button.dataset.zoomBy));
    if (button?.dataset.zoomTo) show(at + Number(button.dataset.zoomTo));
    if (button && "zoomClose" in button.dataset || event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    stage.replaceChildren();
    opener.focus();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { "+": 1, "=": 1, "-": -1, "0": -scales.length }[event.key];
    if (step) zoom(scale + step);
    const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    if (scale > 0) stage.scrollBy(80 * x, 80 * y);
    else if (x && links.length > 1) show(at + x);
    if (step || x || y) event.preventDefault();
  });

  addEventListener("resize", () => { if (dialog.open) zoom(scale); });

  // A click zooms in and out; a mouse drag moves the zoomed image.
  let moved = 0;
  stage.addEventListener("pointerdown", () => { moved = 0; });
  stage.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse" || !(event.buttons & 1)) return;
    moved += Math.abs(event.movementX) + Math.abs(event.movementY);
    stage.scrollBy(-event.movementX, -event.movementY);
  });
  stage.addEventListener("click", (event) => {
    if (event.target !== image || moved > 5) return;
    const box = image.getBoundingClientRect();
    zoom(scale > 0 ? 0 : 2, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  });
})();
