"""A headless Chromium, controlled over a pipe by the protocol of its developer tools; needs only Python."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Many containers do not support the sandbox; the pages are our own.
FLAGS = ("--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars",
         "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND")
SECONDS = 30  # time limit of one answer


def find_program():
    """Returns the path of a Chromium on this machine, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Page:
    """One page in a new browser. `events`: messages that were not answers, a list of (method, parameters)."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        flags = [*FLAGS, "--user-data-dir=" + self.folder.name]
        # The browser reads from descriptor 3 and writes to 4. Copies from 10 on are neither.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
        self.process = subprocess.Popen([find_program(), *flags, "about:blank"], pass_fds=(3, 4),
                                        preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[1], 4)),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": self.folder.name})
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self.unread, self.last, self.session, self.events = b"", 0, None, []
        target = next(info for info in self.send("Target.getTargets")["targetInfos"] if info["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.send(domain + ".enable")

    def close(self):
        os.close(self.write_end)  # the browser ends when its pipe is closed
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_end)
        self.folder.cleanup()

    def read_message(self, deadline):
        """Returns the browser's next message, an answer or an event."""
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.read_end], [], [], max(0, deadline - time.monotonic()))
            part = os.read(self.read_end, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("the browser " + ("ended" if ready else f"printed nothing for {SECONDS} seconds"))
            self.unread += part
        text, self.unread = self.unread.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, **parameters):
        """Sends a command and returns its result."""
        self.last += 1
        command = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.write_end, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            reply = self.read_message(deadline)
            if reply.get("id") == self.last:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']['message']}")
                return reply["result"]
            self.events.append((reply.get("method"), reply.get("params")))

    def wait_for(self, method):
        """Waits for an event of this name since `open`."""
        deadline = time.monotonic() + SECONDS
        while not any(name == method for name, _ in self.events):
            reply = self.read_message(deadline)
            self.events.append((reply.get("method"), reply.get("params")))

    def open(self, path):
        self.events.clear()
        self.send("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("Page.loadEventFired")

    def evaluate(self, script):
        """Returns the value of a JavaScript expression, converted from JSON."""
        reply = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise RuntimeError(reply["exceptionDetails"]["exception"].get("description", "an exception"))
        return reply["result"].get("value")

    def show(self, width, scheme="light", media="screen", height=900):
        """Sets width and height of the window in pixels, the scheme (light or dark), the medium (screen or print)."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, text=None):
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code="Space" if key == " " else key,
                      windowsVirtualKeyCode=codes[key], **more)

    def move(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def print_pdf(self):
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
