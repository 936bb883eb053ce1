"""The socket that the server listens at."""

import socket

from glassformer.serving.listening import listen


def test_answers_are_sent_at_once() -> None:
    address = listen("127.0.0.1", 0)
    with address.listener, socket.create_connection(("127.0.0.1", address.port)):
        accepted, _ = address.listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
