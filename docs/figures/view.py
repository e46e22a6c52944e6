"""Make docs/figures/view.png: the page of the trunk in Chromium, with its goal pulled aside."""

import threading
from pathlib import Path

from sofa_softctl import Session, open_view
from tests.support.chromium import Chromium

SECONDS = 9.0
"""Wall time until the picture: the trunk has been once around its circle."""

session = Session("scenes/trunk.py", backend="embedded")
with session, open_view(session) as page, Chromium((1280, 860)) as browser:
    end = threading.Event()
    playing = threading.Thread(target=page.run, args=(end.is_set,))
    playing.start()
    tab = browser.open(page.address)
    tab.wait_for_text("Speed")
    tab.read_events(SECONDS)
    tab.evaluate(
        "document.querySelectorAll('.mantine-Notification-closeButton').forEach(b => b.click())"
    )
    tab.read_events(1.5)
    Path("docs/figures/view.png").write_bytes(tab.picture())
    end.set()
    playing.join()
