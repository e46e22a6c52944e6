"""The socket between the two processes."""

import socket

from sofa_softctl.bridge.link.link import MessageSocket


def test_last_words_are_heard_also_from_an_end_that_was_closed_without_reading():
    """The kernel reports the reset before what came earlier."""
    ours, theirs = (
        MessageSocket(end) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    )
    theirs.send(b"last words")
    ours.send(b"unread")
    theirs.close()
    assert ours.receive() == [b"last words"] and ours.closed
    ours.close()
