// What a browser makes of a report's page: functions for check_page.py, each a list of what is wrong.

const shown = element => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
const name = element => `${element.tagName.toLowerCase()}${element.className && !element.ownerSVGElement
  ? "." + (element.className.baseVal ?? element.className) : ""} "${element.textContent.trim().slice(0, 40)}"`;

function unfold(open) {
  for (const one of document.querySelectorAll("details")) one.open = open;
}

// What sticks out of the window, or of the box it is in. On a screen a box of a table may scroll, where the keyboard
// reaches it; on paper nothing scrolls.
function overflows(paper) {
  const wrong = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wrong.push(`the page: ${document.documentElement.scrollWidth}`);
  for (const one of document.querySelectorAll("body *")) {
    const box = one.closest(".wide"), at = one.getBoundingClientRect();
    if (!shown(one) || one.closest(".unseen") || at.width === 0 || ["path", "g"].includes(one.tagName)) continue;
    if ((paper || !box || one === box) && (at.right > width + 1 || at.left < -1)) {
      wrong.push(`${name(one)}: from ${at.left} to ${at.right} of ${width}`);
    }
    const scrolls = !one.ownerSVGElement && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0;
    if (scrolls && getComputedStyle(one).display !== "inline" && (paper || !box || box.tabIndex !== 0
      || !box.ariaLabel || getComputedStyle(box).overflowX !== "auto")) {
      wrong.push(`${name(one)}: ${one.scrollWidth} in ${one.clientWidth}`);
    }
  }
  return wrong;
}

// Text of pictures that is cut off at their edge, or runs into other text.
function clashes() {
  const wrong = [];
  for (const picture of document.querySelectorAll(".plot > svg")) {
    const edge = picture.getBoundingClientRect(), texts = [...picture.querySelectorAll("text")];
    const places = texts.map(text => text.getBoundingClientRect());
    places.forEach((a, i) => {
      if (a.left < edge.left - 0.5 || a.right > edge.right + 0.5 || a.top < edge.top - 0.5
        || a.bottom > edge.bottom + 0.5) wrong.push(`${name(texts[i])} is cut`);
      places.slice(0, i).forEach((b, j) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 0.35 * a.height) wrong.push(`${name(texts[i])} over ${name(texts[j])}`);
      });
    });
  }
  return wrong;
}

const channels = colour => colour.match(/[\d.]+/g).map(Number);

function luminance([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// The first colour behind an element that is no glass.
function ground(element) {
  for (let one = element; one; one = one.parentElement) {
    const colour = channels(getComputedStyle(one).backgroundColor);
    if (colour.length < 4 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
}

// Text that does not stand out from what is behind it: 4.5 to 1, large text 3 to 1 (WCAG 2.2, 1.4.3).
function pale_texts() {
  const wrong = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(element) || element.tagName === "SCRIPT") continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
    const got = contrast(channels(element.ownerSVGElement ? style.fill : style.color), ground(element));
    if (got < (large ? 3 : 4.5)) wrong.push(`${name(element)}: ${got.toFixed(2)}`);
  }
  return wrong;
}

// Curves that do not stand out, 3 to 1 (1.4.11), from the page's ground or from the shade of training lengths.
function pale_curves() {
  const wrong = [], curves = document.querySelectorAll(".plot .line path:not([opacity]), .plot .level path");
  for (const one of curves) {
    const shade = getComputedStyle(document.documentElement).getPropertyValue("--shade");
    const parts = shade.trim().slice(1).match(/../g).map(part => parseInt(part, 16));
    for (const behind of [ground(one), ...one.closest(".line") ? [parts] : []]) {
      const got = contrast(channels(getComputedStyle(one).stroke), behind);
      if (got < 3) wrong.push(`${one.parentElement.parentElement.className.baseVal}: ${got.toFixed(2)}`);
    }
  }
  return curves.length ? wrong : ["no curves"];
}

// What the page says, without what stands beside the pointer.
function visible_text() {
  const copy = document.querySelector("main").cloneNode(true);
  copy.querySelectorAll(".readout").forEach(one => one.remove());
  return copy.textContent;
}

// What a screen reader goes by.
function structure() {
  const wrong = [], all = selector => [...document.querySelectorAll(selector)];
  const expect = (good, what) => { if (!good) wrong.push(what); };
  expect(document.title.trim(), "no title");
  expect(document.documentElement.lang === "en", "no language");
  for (const one of ["h1", "body > header", "body > nav[aria-label]", "body > main"]) {
    expect(all(one).length === 1, `${all(one).length} times ${one}`);
  }
  let level = 0;
  for (const one of all("h1, h2, h3, h4, h5, h6")) {
    expect(one.tagName[1] - level <= 1, `${name(one)} behind h${level}`);
    level = Number(one.tagName[1]);
  }
  all("table").forEach(one => expect(one.tHead && one.querySelector("tbody th[scope]"), `no heads: ${name(one)}`));
  all("th").forEach(one => expect(/^(col|row|rowgroup)$/.test(one.getAttribute("scope")), `no scope: ${name(one)}`));
  all("figure").forEach(one => expect(one.querySelector("[role=img][aria-label], img[alt]"), `no text: ${name(one)}`));
  all("svg").forEach(one => expect(one.ariaHidden === "true" || one.role === "img" && one.ariaLabel, "a nameless svg"));
  all("img").forEach(one => expect(one.alt && one.complete && one.naturalWidth, "an img without text, or broken"));
  all("[tabindex]").forEach(one => expect(one.tabIndex === 0 && one.ariaLabel, `a stop without a name: ${name(one)}`));
  all("a").forEach(one => expect(document.getElementById(one.hash.slice(1)), `leads nowhere: ${name(one)}`));
  const ids = all("[id]").map(one => one.id);
  expect(new Set(ids).size === ids.length, "an id is given twice");
  return wrong;
}
