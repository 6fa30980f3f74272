"""Tests pages of `longhand report` in a real browser: python3 tests/browser/check_page.py PAGE...

Prints "ok NAME" or "not ok NAME" for each check, with its errors below. The exit status is 1 after an error, and 2 if
there is no Chromium.
"""

import os
import sys

import chromium

WIDTHS = (1280, 390)
PAPER = 718  # pixels of CSS between the margins of A4
MOST_STOPS = 2000
MOST_SHOWN = 12

failures = 0


def report(title, wrong):
    """Prints the result of a check: `wrong` lists its errors."""
    global failures
    print(f"{'not ok' if wrong else 'ok'} {title}")
    for line in wrong[:MOST_SHOWN]:
        print("  ", line)
    failures += bool(wrong)


def run(check, page, name, *more):
    """Runs a check; it fails if it raises an error."""
    try:
        check(page, name, *more)
    except RuntimeError as error:
        report(f"{name}: {check.__name__}", str(error).splitlines())


def list_looks():
    for scheme in ("light", "dark"):
        for width in WIDTHS:
            yield width, scheme


def check_looks(page, name):
    """No content is cut off, with all details closed or open; texts and curves have enough contrast."""
    cut, pale = [], []
    for width, scheme in list_looks():
        page.show(width, scheme)
        for unfolded in ("false", "true"):
            page.evaluate(f"unfold({unfolded})")
            prefix = f"{width} {scheme}: "
            if scheme == "light":
                cut += [prefix + text for text in page.evaluate("[...find_overflows(false), ...find_clashes()]")]
        if width == WIDTHS[0]:
            pale += [prefix + text for text in page.evaluate("[...find_pale_texts(), ...find_pale_curves()]")]
    page.evaluate("unfold(false)")
    report(f"{name}: nothing is cut at {' and '.join(map(str, WIDTHS))} pixels", cut)
    report(f"{name}: text and curves stand out, light and dark", pale)


def check_paper(page, name):
    """Printed with all details open, no content is cut off, and texts and curves have enough contrast."""
    page.show(PAPER, "dark", "print")
    page.evaluate("unfold(true)")
    wrong = page.evaluate("[...find_overflows(true), ...find_clashes(), ...find_pale_texts(), ...find_pale_curves()]")
    page.evaluate("unfold(false)")
    page.show(WIDTHS[0])
    if not page.print_pdf().startswith(b"%PDF"):
        wrong.append("no PDF")
    report(f"{name}: nothing is cut or pale on paper", wrong)


def check_tree(page, name):
    """Headings, tables and links are well formed; elements in the browser's tree for screen readers have names."""
    wrong = page.evaluate("find_structure_errors()")
    for node in page.send("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if not node["ignored"] and role in ("image", "button", "link", "columnheader", "rowheader",
                                            "DisclosureTriangle") and not node.get("name", {}).get("value"):
            wrong.append(f"a {role} without a name")
    report(f"{name}: structure and names for screen readers", wrong)


STOP = """(() => { const one = document.activeElement, style = getComputedStyle(one);
  one.reached = true;
  return one === document.body ? null : [describe(one), style.outlineStyle !== "none"
    && parseFloat(style.outlineWidth) >= 2
    && get_contrast(get_channels(style.outlineColor), find_ground(one.parentElement)) >= 3]; })()"""


def check_keyboard(page, name):
    """Tab reaches every interactive element and shows the focus."""
    wrong = []
    page.evaluate("document.activeElement.blur()")
    for _ in range(MOST_STOPS):
        page.press("Tab")
        stop = page.evaluate(STOP)
        if stop is None:
            break
        if not stop[1]:
            wrong.append("the focus is not visible: " + stop[0])
    wrong += ["not reached: " + one for one in page.evaluate(
        "[...document.querySelectorAll('a, button, summary, .wide')]"
        ".filter(one => is_shown(one) && !one.reached).map(describe)")]
    report(f"{name}: Tab reaches everything, and the focus is visible", wrong)


def check_toggles(page, name):
    """Each name in the legend hides its curve by Space and shows it again by Enter, which also unfolds details."""
    wrong = []
    state = "(() => { const one = document.activeElement, line = one.parentElement.dataset.toggle; return [" \
        "one.getAttribute('aria-pressed'), [...one.closest('figure').querySelectorAll(`[data-line=\"${line}\"]`)]" \
        ".every(part => getComputedStyle(part).display === 'none')]; })()"
    names = page.evaluate("document.querySelectorAll('.legend button').length")
    if names != page.evaluate("document.querySelectorAll('.legend [data-toggle]').length"):
        wrong.append(f"{names} buttons")
    for i in range(names):
        page.evaluate(f"document.querySelectorAll('.legend button')[{i}].focus()")
        for key, text, expected in ((" ", " ", ["false", True]), ("Enter", "\r", ["true", False])):
            page.press(key, text)
            if page.evaluate(state) != expected:
                wrong.append(f"name {i}, key {key!r}: {page.evaluate(state)}")
    page.evaluate("document.querySelector('summary').focus()")
    page.press("Enter", "\r")
    if not page.evaluate("document.querySelector('summary').parentElement.open"):
        wrong.append("Enter does not unfold")
    page.evaluate("unfold(false)")
    report(f"{name}: Space and Enter hide and show a curve", wrong)


READ = """(() => { const panel = document.querySelector('.panel'), box = panel.querySelector('.readout');
  return [is_shown(box), box.innerText, document.documentElement.scrollWidth - document.documentElement.clientWidth,
    [...panel.querySelectorAll('tbody tr')].map(row => `${panel.dataset.axis} ${row.cells[0].textContent}`),
    [...panel.querySelectorAll('tbody tr')].map(row => row.cells[1].textContent)]; })()"""


def check_pointer(page, name):
    """Values appear next to the pointer, equal those of the table, and move with it."""
    wrong = []
    for width in WIDTHS:
        page.show(width)
        left, top, across, down = page.evaluate("(() => { const one = document.querySelector('.plot > svg');"
                                                "one.scrollIntoView(); const at = one.getBoundingClientRect();"
                                                "return [at.x, at.y, at.width, at.height]; })()")
        for share in (0.2, 0.9):
            page.move(left + share * across, top + down / 2)
            visible, text, beyond, places, values = page.evaluate(READ)
            head = text.split("\n")[0]
            if not visible or head not in places or values[places.index(head)] not in text or beyond > 0:
                wrong.append(f"{width} pixels, {share}: {visible}, {text!r}, {beyond}")
        page.move(left + across / 2, 0 if top > 40 else top + down + 200)
        if page.evaluate(READ)[0]:
            wrong.append(f"{width} pixels: the values stay after the pointer has left")
    page.show(WIDTHS[0])
    report(f"{name}: values under the pointer", wrong)


def check_links(page, name):
    """A number links to its runs, whose details are then open, with their seeds and their command."""
    wrong = []
    for place in ("td a[href^='#cell-']", ".numbers th a[href^='#cell-']"):
        page.evaluate(f"unfold(false); document.querySelector(\"{place}\").click()")
        page.evaluate("new Promise(done => setTimeout(done, 50))")
        opened = page.evaluate("(() => { const runs = document.querySelector(location.hash); return [runs.open, "
                               "runs.innerText.includes('seed'), runs.innerText.includes('./longhand')]; })()")
        if opened != [True, True, True]:
            wrong.append(f"{place}: {opened}")
    page.evaluate("unfold(false); history.replaceState(null, '', ' ')")
    report(f"{name}: numbers link to runs, seeds and the command", wrong)


def check_silence(page, name, path, measure):
    """The page requests only its file, writes nothing to the console, and runs only its script, which its text does
    not need.
    """
    wrong = []
    for method, parameters in page.events:
        if method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith(("file://", "data:")):
            wrong.append("requests " + parameters["request"]["url"])
        elif method in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            wrong.append(f"{method}: {parameters}")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'),"
                  "{ textContent: 'window.ran = 1' }))")
    if page.evaluate("window.ran"):
        wrong.append("another script is run")
    with_script = page.evaluate("get_text()")
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    page.open(path)
    page.evaluate(measure)
    if page.evaluate("get_text()") != with_script or page.evaluate("document.querySelector('button') !== null"):
        wrong.append("the page has another text without its script")
    page.send("Emulation.setScriptExecutionDisabled", value=False)
    report(f"{name}: no requests, nothing on the console, the same text without scripts", wrong)


def main(paths):
    if not chromium.find_program():
        return 2
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "measure.js"), encoding="utf-8") as file:
        measure = file.read() + "; 0"
    page = chromium.Page()
    try:
        for path in paths:
            name = os.path.basename(os.path.dirname(os.path.abspath(path)))
            page.show(WIDTHS[0])
            page.open(path)
            page.evaluate(measure)
            for check in (check_looks, check_paper, check_tree, check_keyboard, check_toggles, check_pointer):
                run(check, page, name)
            if page.evaluate("document.querySelector(\"[id^='cell-']\") !== null"):
                run(check_links, page, name)
            run(check_silence, page, name, path, measure)
    finally:
        page.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
