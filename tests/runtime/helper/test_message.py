"""Messages, and handlers that hear them."""

import pytest


@pytest.fixture
def Listener(Sofa):
    class Listener(Sofa.Helper.MessageHandler):
        def __init__(self):
            Sofa.Helper.MessageHandler.__init__(self)
            self.heard = []

        def process(self, message):
            self.heard.append(message)

    return Listener


def test_a_handler_hears_what_is_said_while_it_is_entered(Sofa, root, Listener):
    arm = root.addChild("arm")
    with Listener() as outer:
        Sofa.msg_info("script", "one")
        with Listener() as inner:
            Sofa.Helper.msg_error(arm, "two", "scene.py", 3)
        Sofa.msg_deprecated(arm, "")
    Sofa.msg_warning("script", "four")
    assert [message["message"] for message in outer.heard] == ["one", "two", ""]
    assert inner.heard == [
        {"type": "Error", "isEmpty": False, "sender": "Node", "message": "two", "component": arm}
    ]
    assert outer.heard[0]["component"] is None
    assert outer.heard[0]["sender"] == "script"
    assert (outer.heard[2]["type"], outer.heard[2]["isEmpty"]) == ("Deprecated", True)


def test_the_runtimes_own_warnings_are_heard(root, Listener):
    root.addChild("arm")
    with Listener() as listener:
        root.createChild("arm")
    assert [message["type"] for message in listener.heard] == ["Deprecated", "Warning"]
    assert "createChild is now addChild" in listener.heard[0]["message"]


def test_an_object_keeps_the_messages_that_it_sent(Sofa, root):
    assert (root.getLoggedMessagesAsString(), root.countLoggedMessages()) == ("", 0)
    Sofa.msg_info(root, "first")
    Sofa.msg_warning(root, "second", "file.py", 3)
    assert root.getLoggedMessagesAsString() == "[Info] first\n[Warning] second"
    root.clearLoggedMessages()
    assert root.countLoggedMessages() == 0
    for _ in range(200):
        Sofa.msg_info(root, "again")
    assert root.countLoggedMessages() == 100  # the last ones


def test_a_message_of_nobody_is_of_the_script(Sofa, Listener):
    with Listener() as listener:
        Sofa.Helper.msg_info("said")
        Sofa.Helper.msg_info("said", "file.py", 10)
    assert [(m["sender"], m["message"]) for m in listener.heard] == [("PythonScript", "said")] * 2
