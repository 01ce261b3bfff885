// A hint under the pointer on page maps. The page says all it has to say without this.
(() => {
  const tip = document.getElementById("tip");
  const result = JSON.parse(document.getElementById("result").textContent);
  const count = new Intl.NumberFormat("en-GB");
  for (const map of document.querySelectorAll("svg[data-map]")) {
    const bytes = map.dataset.map.split(".").reduce((value, key) => value[key], result);
    const columns = Number(map.dataset.columns);
    const rows = Math.max(1, Math.ceil(bytes.length / columns));
    // The browser's own hint would come late, on top of this one.
    for (const title of map.querySelectorAll("path > title")) title.remove();
    map.addEventListener("pointermove", (event) => {
      const box = map.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
      const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
      const page = row * columns + column;
      if (column < 0 || column >= columns || !(page in bytes)) {
        tip.hidden = true;
        return;
      }
      const share = Math.round((bytes[page] / result.page_size) * 100);
      tip.textContent =
        `page ${count.format(page)}: ` +
        (bytes[page] ? `${count.format(bytes[page])} bytes executed, ${share} %` : "untouched");
      tip.hidden = false;
      const right = document.documentElement.clientWidth - tip.offsetWidth - 8;
      tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, right))}px`;
      tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 12)}px`;
    });
    map.addEventListener("pointerleave", () => {
      tip.hidden = true;
    });
  }
})();
