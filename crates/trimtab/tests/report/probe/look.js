// Runs last on a page under test: looks at it as laid out, and tells the frame around it what is wrong.
{
  const problems = [...probeErrors];
  const result = JSON.parse(document.getElementById("result").textContent);
  const root = document.documentElement;

  // Nothing overflows.
  if (root.scrollWidth > root.clientWidth)
    problems.push(`the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth} px`);
  let elements = 0;
  for (const element of document.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    if (box.width === 0 && box.height === 0) continue;
    elements += 1;
    if (box.right > root.clientWidth + 0.5 || box.left < -0.5)
      problems.push(
        `<${element.tagName} class=${element.getAttribute("class")}> reaches from ${box.left} to ` +
          `${box.right} px: ${element.textContent.slice(0, 40)}`);
  }

  // Every number shown is the one of the JSON. A key is paths and numbers joined by - and /.
  const look = (path) =>
    /^\d/.test(path) ? Number(path) : path.split(".").reduce((value, key) => value?.[key], result);
  const quotient = (text) => text.split("/").map(look).reduce((a, b) => a / b);
  const value = (key) => key.split("-").map(quotient).reduce((a, b) => a - b);
  const scales = {
    "": 1, B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, "%": 0.01, "×": 1, s: 1, ms: 0.001,
    k: 1e3, M: 1e6,
  };
  // A number as shown, and the worth of its last digit.
  const read = (text) => {
    const plain = text.replaceAll(",", "").replace("−", "-");
    const minutes = plain.match(/^(\d+) min (\d+) s$/);
    if (minutes) return [Number(minutes[1]) * 60 + Number(minutes[2]), 1];
    const [, digits, fraction = "", unit] = plain.match(/^([+-]?\d+)(\.\d+)? ?(.*)$/) ?? [];
    if (!(unit in scales)) return [NaN, 0];
    const last = fraction === "" ? 1 : 10 ** (1 - fraction.length);
    return [Number(digits + fraction) * scales[unit], last * scales[unit]];
  };
  const shown = document.querySelectorAll("data[data-key]");
  for (const element of shown) {
    const key = element.dataset.key;
    const exact = value(key);
    const said = Number(element.value);
    const [number, last] = read(element.textContent);
    const exactly = element.value !== "" && Math.abs(said - exact) <= 1e-9 * Math.max(1, Math.abs(exact));
    // Integers are shown whole; anything else is right to its last digit.
    const whole = Number.isInteger(exact) && !/[a-z%×.]/i.test(element.textContent);
    const nearly = whole ? number === exact : Math.abs(number - exact) <= last * 1.0001;
    if (!exactly || !nearly)
      problems.push(`${key} is ${exact}, the page says ${element.value}, shown as ${element.textContent}`);
  }

  // Every touched page is a cell of its own, in the colour of its share, in its place.
  let cells = 0;
  for (const map of document.querySelectorAll("svg[data-map]")) {
    const bytes = look(map.dataset.map);
    const columns = Number(map.dataset.columns);
    const touched = [...bytes.entries()].filter(([, executed]) => executed > 0);
    const drawn = [...map.querySelectorAll("path[class]")];
    cells += drawn.length;
    if (drawn.length !== touched.length)
      problems.push(`${map.dataset.map} shows ${drawn.length} pages, ${touched.length} are touched`);
    touched.forEach(([page, executed], place) => {
      const step = Math.ceil((Math.min(executed, result.page_size) * 8) / result.page_size);
      const at = `M${(page % columns) * 10} ${Math.floor(page / columns) * 10}h`;
      const cell = drawn[place];
      if (cell?.getAttribute("class") !== `c${step}` || !cell.getAttribute("d").startsWith(at))
        problems.push(`page ${page} of ${map.dataset.map} is drawn wrong`);
    });
    const size = map.getBoundingClientRect();
    if (size.width / columns < 2) problems.push(`cells of ${map.dataset.map} are too small`);

    // The hint under the pointer says what the JSON says.
    const [page, executed] = touched[0] ?? [0, 0];
    const rows = Math.ceil(bytes.length / columns);
    map.dispatchEvent(new PointerEvent("pointermove", {
      clientX: size.left + ((page % columns) + 0.5) * (size.width / columns),
      clientY: size.top + (Math.floor(page / columns) + 0.5) * (size.height / rows),
    }));
    const tip = document.getElementById("tip");
    const expected = `page ${page.toLocaleString("en-GB")}: ${executed.toLocaleString("en-GB")} bytes`;
    if (tip.hidden || !tip.textContent.startsWith(expected))
      problems.push(`the hint says "${tip.textContent}", expected "${expected}"`);
    map.dispatchEvent(new PointerEvent("pointerleave"));
  }

  const headline = document.querySelector("h1").innerText.replace(/\s+/g, " ").trim();
  parent.postMessage(JSON.stringify({
    problems, elements, cells, headline,
    numbers: shown.length,
    width: window.innerWidth,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    ground: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color,
  }), "*");
}
