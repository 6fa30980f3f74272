// Functions for check_page.py that examine a report's page in a browser. Those named find_... return a list of errors,
// except find_ground.

const is_shown = element => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
const describe = element => `${element.tagName.toLowerCase()}${element.className && !element.ownerSVGElement
  ? "." + (element.className.baseVal ?? element.className) : ""} "${element.textContent.trim().slice(0, 40)}"`;

function unfold(open) {
  for (const one of document.querySelectorAll("details")) one.open = open;
}

// Elements that extend beyond the window or their box. On a screen the box of a table may scroll if the keyboard
// reaches it; on paper nothing scrolls.
function find_overflows(paper) {
  const wrong = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wrong.push(`the page: ${document.documentElement.scrollWidth}`);
  for (const one of document.querySelectorAll("body *")) {
    const box = one.closest(".wide"), at = one.getBoundingClientRect();
    if (!is_shown(one) || one.closest(".unseen") || at.width === 0 || ["path", "g"].includes(one.tagName)) continue;
    if ((paper || !box || one === box) && (at.right > width + 1 || at.left < -1)) {
      wrong.push(`${describe(one)}: from ${at.left} to ${at.right} of ${width}`);
    }
    const scrolls = !one.ownerSVGElement && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0;
    if (scrolls && getComputedStyle(one).display !== "inline" && (paper || !box || box.tabIndex !== 0
      || !box.ariaLabel || getComputedStyle(box).overflowX !== "auto")) {
      wrong.push(`${describe(one)}: ${one.scrollWidth} in ${one.clientWidth}`);
    }
  }
  return wrong;
}

// Texts of pictures that are cut off at the edge, or overlap other texts.
function find_clashes() {
  const wrong = [];
  for (const picture of document.querySelectorAll(".plot > svg")) {
    const edge = picture.getBoundingClientRect(), texts = [...picture.querySelectorAll("text")];
    const places = texts.map(text => text.getBoundingClientRect());
    places.forEach((a, i) => {
      if (a.left < edge.left - 0.5 || a.right > edge.right + 0.5 || a.top < edge.top - 0.5
        || a.bottom > edge.bottom + 0.5) wrong.push(`${describe(texts[i])} is cut`);
      places.slice(0, i).forEach((b, j) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 0.35 * a.height) wrong.push(`${describe(texts[i])} over ${describe(texts[j])}`);
      });
    });
  }
  return wrong;
}

const get_channels = colour => colour.match(/[\d.]+/g).map(Number);

function get_luminance([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function get_contrast(one, other) {
  const [low, high] = [get_luminance(one), get_luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// Returns the first opaque background colour of an element or its ancestors, as channels; white without one.
function find_ground(element) {
  for (let one = element; one; one = one.parentElement) {
    const colour = get_channels(getComputedStyle(one).backgroundColor);
    if (colour.length < 4 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
}

// Texts with less contrast to their background than 4.5 to 1, or 3 to 1 for large text (WCAG 2.2, 1.4.3).
function find_pale_texts() {
  const wrong = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !is_shown(element) || element.tagName === "SCRIPT") continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
    const got = get_contrast(get_channels(element.ownerSVGElement ? style.fill : style.color), find_ground(element));
    if (got < (large ? 3 : 4.5)) wrong.push(`${describe(element)}: ${got.toFixed(2)}`);
  }
  return wrong;
}

// Curves with less contrast than 3 to 1 (WCAG 2.2, 1.4.11) to the page or to the shade of training lengths.
function find_pale_curves() {
  const wrong = [], curves = document.querySelectorAll(".plot .line path:not([opacity]), .plot .level path");
  for (const one of curves) {
    const shade = getComputedStyle(document.documentElement).getPropertyValue("--shade");
    const channels = shade.trim().slice(1).match(/../g).map(digits => parseInt(digits, 16));
    for (const behind of [find_ground(one), ...one.closest(".line") ? [channels] : []]) {
      const got = get_contrast(get_channels(getComputedStyle(one).stroke), behind);
      if (got < 3) wrong.push(`${one.parentElement.parentElement.className.baseVal}: ${got.toFixed(2)}`);
    }
  }
  return curves.length ? wrong : ["no curves"];
}

// Returns the text of the page without the values next to the pointer.
function get_text() {
  const copy = document.querySelector("main").cloneNode(true);
  copy.querySelectorAll(".readout").forEach(one => one.remove());
  return copy.textContent;
}

// Errors in the structure of headings, tables, pictures and links, which screen readers use.
function find_structure_errors() {
  const wrong = [], all = selector => [...document.querySelectorAll(selector)];
  const expect = (good, what, one) => { if (!good) wrong.push(one ? `${what}: ${describe(one)}` : what); };
  expect(document.title.trim(), "no title");
  expect(document.documentElement.lang === "en", "no language");
  for (const one of ["h1", "body > header", "body > nav[aria-label]", "body > main"]) {
    expect(all(one).length === 1, `${all(one).length} times ${one}`);
  }
  let level = 0;
  for (const one of all("h1, h2, h3, h4, h5, h6")) {
    expect(one.tagName[1] - level <= 1, `${describe(one)} after h${level}`);
    level = Number(one.tagName[1]);
  }
  all("table").forEach(one => expect(one.tHead && one.querySelector("tbody th[scope]"), "no heads", one));
  all("th").forEach(one => expect(/^(col|row|rowgroup)$/.test(one.getAttribute("scope")), "no scope", one));
  all("figure").forEach(one => expect(one.querySelector("[role=img][aria-label], img[alt]"), "no text", one));
  all("svg").forEach(one => expect(one.ariaHidden === "true" || one.role === "img" && one.ariaLabel, "a nameless svg"));
  all("img").forEach(one => expect(one.alt && one.complete && one.naturalWidth, "an img without text, or broken"));
  all("[tabindex]").forEach(one => expect(one.tabIndex === 0 && one.ariaLabel, "a tab stop without a name", one));
  all("a").forEach(one => expect(document.getElementById(one.hash.slice(1)), "a link without a target", one));
  const ids = all("[id]").map(one => one.id);
  expect(new Set(ids).size === ids.length, "an id occurs twice");
  return wrong;
}
