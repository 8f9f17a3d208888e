"""A headless browser, and what a person does with a page: look, click, type."""

import shutil

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
OPTIONS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--force-device-scale-factor=1",
]  # fmt: skip


class Browser:
    """The browser of all tests; each looks at pages of its own."""

    def __init__(self, folder):
        webdriver = pytest.importorskip("selenium.webdriver", reason="needs the extra `browser`")
        if CHROMIUM is None or DRIVER is None:
            pytest.skip("needs Debian's chromium and chromium-driver")
        self.webdriver = webdriver
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for option in (*OPTIONS, f"--user-data-dir={folder}"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))

    def open(self, path, size=(1280, 800), dark=False, zoom=1.0):
        """Open a page on a screen of some size; at a zoom of 200 % it has half as many of CSS's pixels."""
        width, height = (round(n / zoom) for n in size)
        screen = {"width": width, "height": height, "deviceScaleFactor": zoom, "mobile": size[0] < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}  # pictures do not depend on the moment
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, still]})
        self.driver.get(path.resolve().as_uri())
        return self

    def all(self, selector):
        """The elements for a selector of CSS's."""
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        """The only element for a selector."""
        (found,) = self.all(selector)
        return found

    def text(self, selector):
        """The text of the only element."""
        return self.one(selector).text

    def click(self, selector):
        """Click the first element, by an event: boxes of the graph may lie under the edge of its area."""
        script = "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        self.driver.execute_script(script, self.all(selector)[0])

    def press(self, key, times=1):
        """Press a key, such as "Right", wherever the focus is."""
        arrows = {"Right": "ARROW_RIGHT", "Left": "ARROW_LEFT"}
        code = getattr(self.webdriver.Keys, arrows.get(key, key.upper()), key)
        for _ in range(times):
            self.webdriver.ActionChains(self.driver).send_keys(code).perform()

    def run(self, script):
        """The value of a piece of JavaScript."""
        return self.driver.execute_script(f"return {script}")

    def later(self, script):
        """What a script hands to the function that is its argument."""
        return self.driver.execute_async_script(script)

    def numbers(self, view):
        """The exact numbers of a value on the page."""
        return [float(cell.get_attribute("data-value")) for cell in self.all(f"{view} [data-value]")]

    def errors(self):
        """What the console has been told since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="session")
def session_browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(session_browser):
    session_browser.errors()
    yield session_browser
    assert session_browser.errors() == []
